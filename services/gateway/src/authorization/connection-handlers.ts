import type { ConnectionBody } from '@postern/api';
import {
  type Clock,
  type Connection,
  type ConnectionId,
  NotFoundError,
  parseConnectionId,
  type Stores,
  serves,
} from '@postern/elicitation';
import type { ApiHandlers } from '../mcp-servers/api-handlers.ts';
import { assertHonestName, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import { allowedSubject, mayUse } from '../mcp-servers/registered-mcp-server.ts';
import type { AccessTokenFlow } from './access-token-flow.ts';
import type { Disconnection } from './disconnection.ts';

export interface ConnectionHandlersDeps {
  readonly stores: Pick<Stores, 'connections'>;
  readonly registeredNames: RegisteredNames;
  readonly accessTokenFlow: AccessTokenFlow;
  readonly disconnection: Pick<Disconnection, 'disconnect'>;
  readonly now: Clock;
}

export const connectionHandlers = (
  deps: ConnectionHandlersDeps,
): ApiHandlers<'listConnections' | 'getAccessToken' | 'removeConnection'> => ({
  async listConnections({ caller, query: { provider, ...named } }) {
    const connections = await deps.stores.connections.list(allowedSubject(caller, named));
    const now = deps.now();
    return {
      connections: connections
        .filter(
          connection => mayUse(caller, connection) && (provider === undefined || connection.provider === provider),
        )
        .map(connection => presentConnection(connection, now)),
    };
  },

  async getAccessToken({ caller, parameters, body, signal }) {
    if (body.tool !== undefined) assertHonestName(deps.registeredNames, caller.mcpServerId, 'body.tool', body.tool);
    return deps.accessTokenFlow.getAccessToken(caller, connectionIdOf(parameters.connectionId), body, signal);
  },

  async removeConnection({ caller, parameters }) {
    const connectionId = connectionIdOf(parameters.connectionId);
    const connection = await deps.stores.connections.read(connectionId);
    if (connection === undefined || !mayUse(caller, connection)) throw new NotFoundError('connection');
    const by = { mcpServerId: caller.mcpServerId };
    const { revocation, accessUntil } = await deps.disconnection.disconnect(connection, by);
    const isKnown = accessUntil instanceof Date;
    return { connectionId, revocation, ...(isKnown ? { accessTokenExpiresAt: accessUntil.toISOString() } : {}) };
  },
});

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
