import type { RevocationState } from '@postern/api';
import type { ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  type Connection,
  type Entropy,
  NotFoundError,
  newRevocationId,
  type RevocationId,
  type Stores,
  shardIn,
} from '@postern/elicitation';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { type RemovedBy, removedBy } from '../platform/audit/audit-log.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { RevocationFlow } from './revocation-flow.ts';

/** The user at `/me`, or an MCP server through the API. */

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

/** A connection that was just removed, and the stored revocation of its grant, if its provider is known. */
interface Removed {
  readonly connection: Connection;
  readonly revocationId?: RevocationId;
}

/** Maximum time to wait for the providers when many connections end, in milliseconds. The user is waiting. */
const REVOKE_ALL_MS = 20_000;

/** Removes a connection immediately, and revokes its grant as soon as the provider responds. */
export function createDisconnection(p: {
  stores: Pick<Stores, 'connections'>;
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

  /** Undefined if it was removed before. */
  async function remove(connection: Connection, by: RemovedBy): Promise<Removed | undefined> {
    const { connectionId, subject, provider } = connection;
    const isKnown = p.providers.get(provider) !== undefined;
    const revocationId = newRevocationId(shardIn(connectionId), p.entropy);
    // Only `sendRevocation` checks whether another connection shares the grant. If this function checked too, two connections that
    // are disconnected at the same time would each leave the revocation to the other.
    const removed = await p.stores.connections.remove({ connectionId, ...(isKnown ? { revocationId } : {}) });
    if (removed === undefined) return undefined;
    p.auditLog.record('connection.disconnected', { connectionId, provider, subject, ...removedBy(by) });
    return { connection: removed, ...(isKnown ? { revocationId } : {}) };
  }

  async function revoke({ connection, revocationId }: Removed): Promise<Disconnected> {
    const revocation = revocationId === undefined ? 'unsupported' : await p.revocationFlow.attempt(revocationId);
    const isAccessOver = revocation === 'revoked' || revocation === 'access_token_revoked';
    return { revocation, ...(isAccessOver ? {} : lastingAccess(connection)) };
  }

  return {
    /** Returns the effect that disconnecting will have at the provider. Changes nothing. */
    async outlook(connection: Connection): Promise<Outlook> {
      return { provider: await outlookAtProvider(connection), ...lastingAccess(connection) };
    },

    /** @throws NotFoundError if it was removed before */
    async disconnect(connection: Connection, by: RemovedBy): Promise<Disconnected> {
      const removed = await remove(connection, by);
      if (removed === undefined) throw new NotFoundError('connection');
      return revoke(removed);
    },

    /** Returns the providers that will be asked to revoke the grants of these connections, and those that cannot. */
    async outlookOfAll(
      connections: readonly Connection[],
    ): Promise<{ readonly revoked: readonly string[]; readonly unsupported: readonly string[] }> {
      const names = [...new Set(connections.map(({ provider }) => provider))];
      const found = await Promise.all(
        names.map(async name => ({ name, revocable: (await p.providers.get(name)?.isRevocable()) === true })),
      );
      return {
        revoked: found.filter(({ revocable }) => revocable).map(({ name }) => name),
        unsupported: found.filter(({ revocable }) => !revocable).map(({ name }) => name),
      };
    },

    /**
     * Removes all of these connections before it revokes the first grant, so that none of them seems to share it. A provider that does not
     * answer in time counts as `pending`: its revocation is stored and continues. Omits connections that were removed before.
     */
    async disconnectAll(
      connections: readonly Connection[],
      by: RemovedBy,
    ): Promise<readonly (Disconnected & { readonly provider: string })[]> {
      const removed = await Promise.all(connections.map(connection => remove(connection, by)));
      return Promise.all(
        removed
          .filter(each => each !== undefined)
          .map(async each => ({
            provider: each.connection.provider,
            ...(await withTimeout(revoke(each), REVOKE_ALL_MS, {
              revocation: 'pending' as const,
              ...lastingAccess(each.connection),
            })),
          })),
      );
    },
  };
}

export type Disconnection = ReturnType<typeof createDisconnection>;
