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
  stores: Pick<RedisStores, 'connections' | 'revocations'>;
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
      if (await isShared(connection)) return 'shared';
      const provider = p.providers.get(connection.provider);
      return provider === undefined || provider.isRevocable === false ? 'unsupported' : 'revoke';
    },

    /** @throws NotFoundError when it is gone already. */
    async disconnect(connection: Connection, by: DisconnectedBy): Promise<RevocationState> {
      const { connectionId, subject, provider } = connection;
      const isKnown = p.providers.get(provider) !== undefined;
      const wasShared = await isShared(connection);
      const revocationId = newRevocationId(shardIn(connectionId), p.entropy);
      const removed = await p.stores.connections.remove({
        connectionId,
        ...(isKnown && !wasShared ? { revocationId } : {}),
      });
      if (removed === undefined) throw new NotFoundError('connection');
      p.events.disconnected({ connectionId, provider, subject, by });
      if (wasShared) {
        // Those that shared the grant may have been disconnected at the same time, each leaving it to the other.
        if (await isShared(removed)) return 'shared';
        const { owner, elicitationId, sealedTokens, resource } = removed;
        await p.stores.revocations.add({
          ...{ revocationId, owner, subject, provider, elicitationId, sealedTokens },
          ...(resource === undefined ? {} : { resource }),
        });
      }
      return isKnown ? p.revocationFlow.attempt(revocationId) : 'unsupported';
    },
  };
}

export type Disconnection = ReturnType<typeof createDisconnection>;
