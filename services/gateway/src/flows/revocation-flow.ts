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
  shardOf,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { VaultError } from '@postern/vault';
import type { Events } from '../events.ts';
import { providerLeaseMs } from './provider-lease.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

/** What became of a grant at the provider. `shared`: another connection of the person rests on it, so it was left alone. */
export type RevocationResult = 'revoked' | 'pending' | 'unsupported' | 'shared';

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60 * 60_000;
/** A provider that has not answered for so long is not told any more, and the tokens kept for it are deleted. */
const GIVE_UP_MS = 72 * 60 * 60_000;

/**
 * Tells providers that grants are over. What is to be told is stored before it is tried, so it outlives whoever tries; each
 * revocation belongs to one process at a time, and telling a provider twice does no harm (RFC 7009 section 2.2).
 */
export function createRevocationFlow(p: {
  stores: Pick<RedisStores, 'revocations' | 'connections'>;
  providers: ProviderRegistry;
  tokenSets: TokenSets;
  events: Events;
  entropy: Entropy;
  now: Clock;
  /** Longest time one request to a provider takes, in milliseconds. */
  requestLimitMs: number;
}) {
  const { revocations } = p.stores;
  const leaseMs = providerLeaseMs(p.requestLimitMs);

  async function tell(revocation: Revocation): Promise<RevocationResult> {
    const { revocationId } = revocation;
    const end = async (outcome: 'revoked' | 'unsupported' | 'abandoned', reason?: string) => {
      await revocations.finish(revocationId);
      p.events.revocationEnded(revocation, { outcome, ...(reason === undefined ? {} : { reason }) });
    };
    const provider = p.providers.get(revocation.provider);
    if (provider === undefined) {
      await end('abandoned', 'unknown_provider');
      return 'unsupported';
    }
    // The person has connected there again since: what is revoked would be the new grant too.
    if (await isGrantShared(revocation)) {
      await end('abandoned', 'grant_in_use');
      return 'shared';
    }
    let tokens: TokenSet;
    try {
      tokens = await p.tokenSets.open(revocation);
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      // A key service that is away comes back; a key that is lost does not.
      if (error.code === 'unknown_key' || error.code === 'not_authentic') {
        await end('abandoned', error.code);
        return 'unsupported';
      }
      return postpone(revocation, error.code);
    }
    try {
      const { accessToken, refreshToken, dpopKey, redirectUri, issuer } = tokens;
      const result = await provider.revoke({
        accessToken,
        redirectUri: new URL(redirectUri),
        ...(refreshToken === undefined ? {} : { refreshToken }),
        issuer,
        ...(dpopKey === undefined ? {} : { dpopKey }),
      });
      await end(result);
      return result;
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      return postpone(revocation, error.code);
    }
  }

  /** Whether a connection of the person, other than the one that is named, would end with this grant. */
  async function isGrantShared(of: GrantHolder, except?: ConnectionId): Promise<boolean> {
    if (p.providers.get(of.provider)?.revocationReach !== 'grant') return false;
    const all = await p.stores.connections.list(of.subject);
    return all.some(other => other.connectionId !== except && mayShareGrant(of, other));
  }

  async function postpone(revocation: Revocation, reason: string): Promise<RevocationResult> {
    if (p.now() - revocation.createdAt >= GIVE_UP_MS) {
      await revocations.finish(revocation.revocationId);
      p.events.revocationEnded(revocation, { outcome: 'abandoned', reason });
      return 'unsupported';
    }
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** (revocation.attempts - 1), LONGEST_RETRY_MS);
    p.events.revocationPostponed(revocation, { reason, delayMs });
    await revocations.postpone(revocation.revocationId, delayMs);
    return 'pending';
  }

  /** Tries one that was just stored. It is stored, so whatever goes wrong now is a matter of time, not of its caller. */
  async function attempt(revocationId: RevocationId): Promise<RevocationResult> {
    try {
      const revocation = await revocations.claimOne(revocationId, leaseMs);
      return revocation === undefined ? 'pending' : await tell(revocation);
    } catch (error) {
      p.events.revocationFailed(revocationId, error);
      return 'pending';
    }
  }

  return {
    attempt,
    isGrantShared,

    /** Ends the grant of a connection that is no more. Changes nothing where the provider is unknown, or the grant still needed. */
    async endGrant(former: Connection): Promise<RevocationResult> {
      if (p.providers.get(former.provider) === undefined) return 'unsupported';
      if (await isGrantShared(former)) return 'shared';
      const { owner, subject, provider, resource, account, elicitationId, sealedTokens } = former;
      const revocationId = newRevocationId(shardOf(subject), p.entropy);
      await revocations.add({
        ...{ revocationId, owner, subject, provider, elicitationId, sealedTokens },
        ...(resource === undefined ? {} : { resource }),
        ...(account === undefined ? {} : { account }),
      });
      return attempt(revocationId);
    },

    /** Those of a shard that are due, for this caller alone. One at a time: the lease is that of one. */
    due: (shard: Shard): Promise<readonly Revocation[]> => revocations.claim(shard, { limit: 1, leaseMs }),

    tell,

    /**
     * A grant that no connection holds must not go on living at the provider. Left alone where the same person has a connection
     * there: many providers end all tokens of a person and client with one of them. For the same reason it is tried at once,
     * before the person can go back to the provider: what they are granted next must not end with it, and a provider that
     * remembers what they refused asks them again.
     */
    async discard(elicitation: ElicitationOf<'authorization'>, owner: string, tokens: TokenSet): Promise<void> {
      const { subject, elicitationId, request } = elicitation;
      const { provider, resource } = request;
      const others = await p.stores.connections.list(subject);
      if (others.some(connection => connection.provider === provider)) {
        p.events.grantLeft(elicitation, 'in_use');
        return;
      }
      const place = { owner, subject, elicitationId, provider, ...(resource === undefined ? {} : { resource }) };
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

export type RevocationFlow = ReturnType<typeof createRevocationFlow>;

type GrantHolder = Pick<Connection, 'subject' | 'provider' | 'account'>;

/** Whether two of one person may rest on one grant: same provider, and not known to be two accounts. */
function mayShareGrant(one: GrantHolder, other: GrantHolder): boolean {
  return (
    one.provider === other.provider &&
    (one.account === undefined || other.account === undefined || one.account.id === other.account.id)
  );
}
