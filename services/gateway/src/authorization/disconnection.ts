import type { RevocationState } from '@postern/api';
import type { ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  type Connection,
  type Entropy,
  NotFoundError,
  newRevocationId,
  shardIn,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import type { RevocationFlow } from './revocation-flow.ts';

/** The user at `/me`, or an MCP server through the API. */
export type DisconnectedBy = 'person' | { readonly mcpServerId: string };

/**
 * Time until which the access token may stay usable: absent if it has expired, `unknown` if the provider did not name an
 * expiry.
 */
interface LastingAccess {
  readonly accessUntil?: Date | 'unknown';
}

export interface Outlook extends LastingAccess {
  readonly provider: 'revoke' | 'unsupported' | 'shared';
}

export interface Disconnected extends LastingAccess {
  readonly revocation: RevocationState;
}

/** Removes a connection immediately, and revokes its grant as soon as the provider responds. */
export function createDisconnection(p: {
  stores: Pick<RedisStores, 'connections'>;
  providers: ProviderRegistry;
  revocationFlow: RevocationFlow;
  auditLog: AuditLog;
  entropy: Entropy;
  now: Clock;
}) {
  function lastingAccess({ accessTokenExpiresAt }: Connection): LastingAccess {
    if (accessTokenExpiresAt === undefined) return { accessUntil: 'unknown' };
    return accessTokenExpiresAt <= p.now() ? {} : { accessUntil: new Date(accessTokenExpiresAt) };
  }

  async function outlookAtProvider(connection: Connection): Promise<Outlook['provider']> {
    if (await p.revocationFlow.isGrantShared(connection, connection.connectionId)) return 'shared';
    const isRevocable = await p.providers.get(connection.provider)?.isRevocable();
    return isRevocable === true ? 'revoke' : 'unsupported';
  }

  return {
    /** Returns the effect that disconnecting will have at the provider. Changes nothing. */
    async outlook(connection: Connection): Promise<Outlook> {
      return { provider: await outlookAtProvider(connection), ...lastingAccess(connection) };
    },

    /** @throws NotFoundError if it was removed before */
    async disconnect(connection: Connection, by: DisconnectedBy): Promise<Disconnected> {
      const { connectionId, subject, provider } = connection;
      const isKnown = p.providers.get(provider) !== undefined;
      const revocationId = newRevocationId(shardIn(connectionId), p.entropy);
      // Only `sendRevocation` checks whether another connection shares the grant. If this function checked too, two connections
      // that
      // are disconnected at the same time would each leave the revocation to the other.
      const removed = await p.stores.connections.remove({ connectionId, ...(isKnown ? { revocationId } : {}) });
      if (removed === undefined) throw new NotFoundError('connection');
      p.auditLog.disconnected({ connectionId, provider, subject, by });
      const revocation = isKnown ? await p.revocationFlow.attempt(revocationId) : 'unsupported';
      const isAccessOver = revocation === 'revoked' || revocation === 'access_token_revoked';
      return { revocation, ...(isAccessOver ? {} : lastingAccess(removed)) };
    },
  };
}

export type Disconnection = ReturnType<typeof createDisconnection>;
