import type { RevocationState } from '@postern/api';
import type { ProviderRegistry } from '@postern/authorization';
import { type Connection, type Entropy, NotFoundError, newRevocationId, shardIn } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Events } from '../events.ts';
import type { RevocationFlow } from './revocation-flow.ts';

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
  return {
    /** What disconnecting will mean at the provider. Changes nothing. */
    async outlook(connection: Connection): Promise<'revoke' | 'unsupported' | 'shared'> {
      if (await p.revocationFlow.isGrantShared(connection, connection.connectionId)) return 'shared';
      const provider = p.providers.get(connection.provider);
      return provider === undefined || provider.isRevocable === false ? 'unsupported' : 'revoke';
    },

    /** @throws NotFoundError when it is gone already. */
    async disconnect(connection: Connection, by: DisconnectedBy): Promise<RevocationState> {
      const { connectionId, subject, provider } = connection;
      const isKnown = p.providers.get(provider) !== undefined;
      const revocationId = newRevocationId(shardIn(connectionId), p.entropy);
      // Whether the grant is still needed is judged when the provider would be told, in one place: of those that share it and
      // are disconnected at the same time, one would leave it to the other.
      const removed = await p.stores.connections.remove({ connectionId, ...(isKnown ? { revocationId } : {}) });
      if (removed === undefined) throw new NotFoundError('connection');
      p.events.disconnected({ connectionId, provider, subject, by });
      return isKnown ? p.revocationFlow.attempt(revocationId) : 'unsupported';
    },
  };
}

export type Disconnection = ReturnType<typeof createDisconnection>;
