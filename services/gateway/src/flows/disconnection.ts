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
  async function isShared(connection: Connection): Promise<boolean> {
    if (p.providers.get(connection.provider)?.revocationReach !== 'grant') return false;
    const all = await p.stores.connections.list(connection.subject);
    return all.some(other => other.connectionId !== connection.connectionId && mayShareGrant(connection, other));
  }

  return {
    /** What disconnecting will mean at the provider. Changes nothing. */
    async outlook(connection: Connection): Promise<'revoke' | 'unsupported' | 'shared'> {
      if (p.providers.get(connection.provider)?.isRevocable === false) return 'unsupported';
      return (await isShared(connection)) ? 'shared' : 'revoke';
    },

    /** @throws NotFoundError when it is gone already. */
    async disconnect(connection: Connection, by: DisconnectedBy): Promise<RevocationState> {
      const { connectionId, subject, provider } = connection;
      const shared = await isShared(connection);
      const isTold = !shared && p.providers.get(provider) !== undefined;
      const revocationId = isTold ? newRevocationId(shardIn(connectionId), p.entropy) : undefined;
      const removed = await p.stores.connections.remove({
        connectionId,
        ...(revocationId === undefined ? {} : { revocationId }),
      });
      if (removed === undefined) throw new NotFoundError('connection');
      p.events.disconnected({ connectionId, provider, subject, by });
      if (shared) return 'shared';
      return revocationId === undefined ? 'unsupported' : p.revocationFlow.attempt(revocationId);
    },
  };
}

export type Disconnection = ReturnType<typeof createDisconnection>;
