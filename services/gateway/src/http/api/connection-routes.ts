import {
  type AccessTokenBody,
  accessTokenRequestSchema,
  type ConnectionListBody,
  listConnectionsQuerySchema,
  type RemovedConnectionBody,
} from '@postern/api';
import { type ConnectionId, DomainError, NotFoundError, parseConnectionId } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import type { GatewayDeps } from '../../deps.ts';
import { assertHonestName } from '../../names/assert-honest-names.ts';
import { mayUse } from '../../registered-mcp-server.ts';
import { parse } from '../parse.ts';
import { callerOf } from './caller-auth.ts';
import { noBodySchema } from './elicitation-routes.ts';
import { presentConnection } from './present.ts';
import { createWaitingSignal } from './waiting-signal.ts';

interface ById {
  Params: { connectionId: string };
}

export const connectionRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const waitingSignal = createWaitingSignal(deps.stopping.closing);

  app.get('/connections', async (request): Promise<ConnectionListBody> => {
    const caller = callerOf(request);
    const { provider, ...subject } = parse(listConnectionsQuerySchema, request.query, 'query');
    if (!caller.issuers.includes(subject.issuer)) {
      throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
    }
    const connections = await deps.stores.connections.list(subject);
    const now = deps.now();
    return {
      connections: connections
        .filter(
          connection => mayUse(caller, connection) && (provider === undefined || connection.provider === provider),
        )
        .map(connection => presentConnection(connection, now)),
    };
  });

  app.post<ById>('/connections/:connectionId/access-token', async (request, reply): Promise<AccessTokenBody> => {
    // Most say nothing, and nothing need not be checked.
    const body = request.body == null ? {} : parse(accessTokenRequestSchema, request.body, 'body');
    const caller = callerOf(request);
    if (body.tool !== undefined) assertHonestName(deps.registeredNames, caller.mcpServerId, 'body.tool', body.tool);
    const connectionId = connectionIdOf(request.params.connectionId);
    return deps.accessTokenFlow.take(caller, connectionId, body, () => waitingSignal(reply));
  });

  app.delete<ById>('/connections/:connectionId', async (request): Promise<RemovedConnectionBody> => {
    const caller = callerOf(request);
    parse(noBodySchema, request.body, 'body');
    const connectionId = connectionIdOf(request.params.connectionId);
    const connection = await deps.stores.connections.read(connectionId);
    if (connection === undefined || !mayUse(caller, connection)) throw new NotFoundError('connection');
    const revocation = await deps.disconnection.disconnect(connection, { mcpServerId: caller.mcpServerId });
    return { connectionId, revocation };
  });
};

function connectionIdOf(value: string): ConnectionId {
  const connectionId = parseConnectionId(value);
  if (connectionId === undefined) throw new NotFoundError('connection');
  return connectionId;
}
