import type { RevocationState } from '@postern/api';
import { AuthorizationError, type ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  type Connection,
  type ConnectionId,
  type ElicitationOf,
  type Entropy,
  newRevocationId,
  type Revocation,
  type RevocationId,
  type Shard,
  type Stores,
  shardOf,
} from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60 * 60_000;
/** After this time without success, the gateway gives up the revocation and deletes its tokens. */
const GIVE_UP_MS = 72 * 60 * 60_000;

export interface RevocationFlow {
  /** Revokes the grant of a removed connection, unless the provider is unknown or another connection needs the grant. */
  revokeGrant(former: Connection): Promise<RevocationState>;
  /**
   * Revokes a grant that was not stored. Many providers revoke all tokens of a user and client together, so the grant stays if the
   * subject has a connection at the provider. For the same reason, the revocation is sent before the user returns to the provider: later
   * it could end their next grant. A provider that remembers the consent asks the user again only after the revocation.
   */
  discardGrant(elicitation: ElicitationOf<'authorization'>, owner: string, tokens: TokenSet): Promise<void>;
  /** Sends a revocation that was just stored. After a failure the sweeper retries it, so the caller gets no error. */
  attempt(revocationId: RevocationId): Promise<RevocationState>;
  /** Whether revoking this grant would end another connection of the subject. */
  isGrantShared(holder: GrantHolder, except?: ConnectionId): Promise<boolean>;
  /** Claims the next due revocation of a shard. Only one, because the lease is long enough for one. */
  claimDue(shard: Shard): Promise<readonly Revocation[]>;
  /** Sends a revocation that was claimed. */
  sendRevocation(revocation: Revocation): Promise<RevocationState>;
}

/**
 * Revokes grants at their providers. A revocation is stored before the first attempt, so it survives a crash. A lease gives it to one
 * process at a time; sending it twice is harmless (RFC 7009 section 2.2).
 */
export function createRevocationFlow(p: {
  stores: Pick<Stores, 'revocations' | 'connections'>;
  providers: ProviderRegistry;
  tokenSets: TokenSets;
  auditLog: AuditLog;
  entropy: Entropy;
  now: Clock;
  /** Timeout of one request to a provider, in milliseconds. */
  requestLimitMs: number;
}): RevocationFlow {
  const { revocations } = p.stores;
  const leaseMs = providerLeaseMs(p.requestLimitMs);

  async function sendRevocation(revocation: Revocation): Promise<RevocationState> {
    const finish = async (outcome: Exclude<RevocationState, 'pending' | 'shared'> | 'abandoned', reason?: string) => {
      await revocations.finish(revocation);
      p.auditLog.record('revocation.ended', { ...revocation, outcome, reason });
    };
    const provider = p.providers.get(revocation.provider);
    if (provider === undefined) {
      await finish('abandoned', 'unknown_provider');
      return 'unsupported';
    }
    // The user has reconnected since: the revocation would also end the new grant.
    if (await isGrantShared(revocation)) {
      await finish('abandoned', 'grant_in_use');
      return 'shared';
    }
    let tokens: TokenSet;
    try {
      tokens = await p.tokenSets.open(revocation);
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      // A key that is missing now may be configured again, and a key service may recover.
      return postpone(revocation, error.code);
    }
    try {
      const { accessToken, refreshToken, dpopKey, redirectUri, issuer, clientId } = tokens;
      const result = await provider.revoke({
        accessToken,
        redirectUri: new URL(redirectUri),
        refreshToken,
        issuer,
        clientId,
        dpopKey,
      });
      await finish(result);
      return result;
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      return postpone(revocation, error.code, error.confirmed);
    }
  }

  async function isGrantShared(holder: GrantHolder, except?: ConnectionId): Promise<boolean> {
    if (p.providers.get(holder.provider)?.revocationReach !== 'grant') return false;
    const all = await p.stores.connections.list(holder.subject);
    return all.some(other => other.connectionId !== except && mayShareGrant(holder, other));
  }

  /** @param confirmed the token that the provider did revoke. The retry sends both tokens again, which is harmless. */
  async function postpone(
    revocation: Revocation,
    reason: string,
    confirmed?: AuthorizationError['confirmed'],
  ): Promise<RevocationState> {
    const why = { reason, confirmed };
    if (p.now() - revocation.createdAt >= GIVE_UP_MS) {
      await revocations.finish(revocation);
      p.auditLog.record('revocation.ended', { ...revocation, outcome: 'abandoned', ...why });
      return 'unsupported';
    }
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** (revocation.attempts - 1), LONGEST_RETRY_MS);
    p.auditLog.record('revocation.postponed', { ...revocation, ...why, delayMs });
    await revocations.postpone(revocation.revocationId, delayMs);
    return 'pending';
  }

  async function attempt(revocationId: RevocationId): Promise<RevocationState> {
    try {
      const revocation = await revocations.claimOne(revocationId, leaseMs);
      return revocation === undefined ? 'pending' : await sendRevocation(revocation);
    } catch (error) {
      p.auditLog.record('revocation.failed', { revocationId, error });
      return 'pending';
    }
  }

  return {
    attempt,
    isGrantShared,

    async revokeGrant(former) {
      if (p.providers.get(former.provider) === undefined) return 'unsupported';
      if (await isGrantShared(former)) return 'shared';
      const { owner, subject, provider, resource, account, elicitationId, sealedTokens } = former;
      const revocationId = newRevocationId(shardOf(subject), p.entropy);
      await revocations.add({
        revocationId,
        owner,
        subject,
        provider,
        elicitationId,
        sealedTokens,
        resource,
        account,
      });
      return attempt(revocationId);
    },

    claimDue: shard => revocations.claim(shard, { limit: 1, leaseMs }),

    sendRevocation,

    async discardGrant(elicitation, owner, tokens) {
      const { subject, elicitationId, request } = elicitation;
      const { provider, resource } = request;
      const others = await p.stores.connections.list(subject);
      if (others.some(connection => connection.provider === provider)) {
        p.auditLog.record('grant.left', { ...elicitation, provider, reason: 'in_use' });
        return;
      }
      const place = { owner, subject, elicitationId, provider, resource };
      const revocationId = newRevocationId(shardOf(subject), p.entropy);
      await revocations.add({
        ...place,
        revocationId,
        sealedTokens: await p.tokenSets.seal(tokens, place),
      });
      await attempt(revocationId);
    },
  };
}

type GrantHolder = Pick<Connection, 'subject' | 'provider' | 'account'>;

/** Whether two holders of one subject may share a grant: same provider, and not known to be different accounts. */
function mayShareGrant(one: GrantHolder, other: GrantHolder): boolean {
  return (
    one.provider === other.provider &&
    (one.account === undefined || other.account === undefined || one.account.id === other.account.id)
  );
}

/**
 * Returns the duration of a lease on requests to a provider, in milliseconds. The holder sends at most two requests: it repeats
 * one after a DPoP nonce challenge, or revokes a refresh token and an access token. Half a request is margin.
 */
export function providerLeaseMs(requestLimitMs: number): number {
  return Math.ceil(requestLimitMs * 2.5);
}
