import {
  type AccessTokenBody,
  accessTokenRequestSchema,
  type ConnectionBody,
  type ConnectionListBody,
  listConnectionsQuerySchema,
  type RemovedConnectionBody,
} from '@postern/api';
import {
  type Clock,
  type Connection,
  type ConnectionId,
  DomainError,
  NotFoundError,
  parseConnectionId,
  type Stores,
  serves,
} from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { authenticatedCallerOf, callerOf } from '../mcp-servers/caller-auth.ts';
import { assertHonestName, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import { asConfigured, mayUse } from '../mcp-servers/registered-mcp-server.ts';
import type { WaitingRequests } from '../mcp-servers/waiting-requests.ts';
import { noBodySchema, parse } from '../platform/http/parse.ts';
import type { AccessTokenFlow } from './access-token-flow.ts';
import type { Disconnection } from './disconnection.ts';

interface ById {
  Params: { connectionId: string };
}

export interface ConnectionRoutesDeps {
  readonly stores: Pick<Stores, 'connections'>;
  readonly waitingRequests: Pick<WaitingRequests, 'signalOf'>;
  readonly registeredNames: RegisteredNames;
  readonly accessTokenFlow: AccessTokenFlow;
  readonly disconnection: Pick<Disconnection, 'disconnect'>;
  readonly now: Clock;
}

export const connectionRoutes: FastifyPluginAsync<{ deps: ConnectionRoutesDeps }> = async (app, { deps }) => {
  app.get('/connections', async (request): Promise<ConnectionListBody> => {
    const caller = callerOf(request);
    const { provider, ...named } = parse(listConnectionsQuerySchema, request.query, 'query');
    const subject = asConfigured(caller, named);
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
    // Most requests have no body, so the parser is skipped.
    const body = request.body == null ? {} : parse(accessTokenRequestSchema, request.body, 'body');
    const caller = callerOf(request);
    if (body.tool !== undefined) assertHonestName(deps.registeredNames, caller.mcpServerId, 'body.tool', body.tool);
    const connectionId = connectionIdOf(request.params.connectionId);
    return deps.accessTokenFlow.getAccessToken(caller, connectionId, body, () =>
      deps.waitingRequests.signalOf(reply, authenticatedCallerOf(request)),
    );
  });

  app.delete<ById>('/connections/:connectionId', async (request): Promise<RemovedConnectionBody> => {
    const caller = callerOf(request);
    parse(noBodySchema, request.body, 'body');
    const connectionId = connectionIdOf(request.params.connectionId);
    const connection = await deps.stores.connections.read(connectionId);
    if (connection === undefined || !mayUse(caller, connection)) throw new NotFoundError('connection');
    const by = { mcpServerId: caller.mcpServerId };
    const { revocation, accessUntil } = await deps.disconnection.disconnect(connection, by);
    const isKnown = accessUntil instanceof Date;
    return { connectionId, revocation, ...(isKnown ? { accessTokenExpiresAt: accessUntil.toISOString() } : {}) };
  });
};

function connectionIdOf(value: string): ConnectionId {
  const connectionId = parseConnectionId(value);
  if (connectionId === undefined) throw new NotFoundError('connection');
  return connectionId;
}

function presentConnection(connection: Connection, now: number): ConnectionBody {
  return {
    connectionId: connection.connectionId,
    provider: connection.provider,
    resource: connection.resource,
    scopes: [...connection.scopes],
    account: connection.account,
    callbackMembers: connection.callbackMembers,
    status: serves(connection, [], now) ? 'usable' : 'reauthorization_required',
    createdAt: new Date(connection.createdAt).toISOString(),
    updatedAt: new Date(connection.updatedAt).toISOString(),
    lastUsedAt: connection.lastUse && new Date(connection.lastUse.at).toISOString(),
  };
}
