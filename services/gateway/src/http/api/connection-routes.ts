import { type AccessTokenBody, type ConnectionListBody, listConnectionsQuerySchema } from '@postern/api';
import { type Connection, DomainError, hasFreshToken, NotFoundError, parseConnectionId } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { GatewayDeps } from '../../deps.ts';
import { connectionContext } from '../../flows/connection-context.ts';
import type { RegisteredMcpServer } from '../../registered-mcp-server.ts';
import { parse } from '../parse.ts';
import { callerOf } from './caller-auth.ts';
import { noBodySchema } from './elicitation-routes.ts';
import { presentConnection } from './present.ts';

const tokensSchema = z.object({ accessToken: z.string(), tokenType: z.string(), refreshToken: z.string().optional() });

/** `Bearer` as RFC 6750 writes it, whatever case the provider chose. */
const displayType = (tokenType: string): string => (tokenType.toLowerCase() === 'bearer' ? 'Bearer' : tokenType);

export const connectionRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  app.get('/connections', async (request): Promise<ConnectionListBody> => {
    const caller = callerOf(request);
    const { provider, ...subject } = parse(listConnectionsQuerySchema, request.query, 'query');
    if (!caller.issuers.includes(subject.issuer)) {
      throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
    }
    const connections = await deps.stores.connections.list({ owner: caller.connectionOwner, subject });
    return {
      connections: connections
        .filter(
          connection => mayUse(caller, connection) && (provider === undefined || connection.provider === provider),
        )
        .map(presentConnection),
    };
  });

  app.post<{ Params: { connectionId: string } }>(
    '/connections/:connectionId/access-token',
    async (request): Promise<AccessTokenBody> => {
      const caller = callerOf(request);
      parse(noBodySchema, request.body, 'body');
      const connectionId = parseConnectionId(request.params.connectionId);
      const connection = connectionId === undefined ? undefined : await deps.stores.connections.read(connectionId);
      if (connection === undefined || !mayUse(caller, connection)) throw new NotFoundError('connection');
      if (!hasFreshToken(connection, deps.now()))
        throw new DomainError('reauthorization_required', 'The user must authorize again.');
      const tokens = tokensSchema.parse(
        JSON.parse(await deps.vault.open(connection.sealedTokens, connectionContext(connection))),
      );
      deps.events.tokenRead({
        connectionId: connection.connectionId,
        mcpServerId: caller.mcpServerId,
        subject: connection.subject,
      });
      return {
        accessToken: tokens.accessToken,
        tokenType: displayType(tokens.tokenType),
        ...(connection.accessTokenExpiresAt === undefined
          ? {}
          : { expiresAt: new Date(connection.accessTokenExpiresAt).toISOString() }),
        scopes: [...connection.scopes],
      };
    },
  );
};

/** Its owner's, and still something the operator lets this MCP server ask for. */
function mayUse(caller: RegisteredMcpServer, connection: Connection): boolean {
  return (
    connection.owner === caller.connectionOwner &&
    caller.providers.includes(connection.provider) &&
    caller.issuers.includes(connection.subject.issuer)
  );
}
