import type { RevocationState } from '@postern/api';
import type { ProviderRegistry } from '@postern/authorization';
import { type Connection, type Entropy, NotFoundError, newRevocationId, shardIn } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Events } from '../events.ts';
import { mayShareGrant, type RevocationFlow } from './revocation-flow.ts';

/** Who ended it: the person at `/me`, or an MCP server over the API. */
export type DisconnectedBy = 'person' | { readonly mcpServerId: string };

/**
 * Ends a connection: here at once and whatever the provider does, there as soon as it answers.
 */
export function createDisconnection(p: {
  stores: Pick<RedisStores, 'connections'>;
  providers: ProviderRegistry;
  revocationFlow: RevocationFlow;
  events: Events;
  entropy: Entropy;
}) {
  /** @throws NotFoundError when it is gone already. */
  return async function disconnect(connection: Connection, by: DisconnectedBy): Promise<RevocationState> {
    const { connectionId, subject } = connection;
    const provider = p.providers.get(connection.provider);
    const isShared = provider?.revocationReach === 'grant' && (await hasSibling(connection));
    const revocationId =
      provider === undefined || isShared ? undefined : newRevocationId(shardIn(connectionId), p.entropy);
    const removed = await p.stores.connections.remove({
      connectionId,
      ...(revocationId === undefined ? {} : { revocationId }),
    });
    if (removed === undefined) throw new NotFoundError('connection');
    p.events.disconnected({ connectionId, provider: connection.provider, subject, by });
    if (isShared) return 'shared';
    return revocationId === undefined ? 'unsupported' : p.revocationFlow.attempt(revocationId);
  };

  async function hasSibling(connection: Connection): Promise<boolean> {
    const all = await p.stores.connections.list(connection.subject);
    return all.some(other => other.connectionId !== connection.connectionId && mayShareGrant(connection, other));
  }
}

export type Disconnection = ReturnType<typeof createDisconnection>;
