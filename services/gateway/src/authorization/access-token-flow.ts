import type { AccessTokenBody, AccessTokenRequest } from '@postern/api';
import type { ProviderRegistry } from '@postern/authorization';
import {
  type Clock,
  type Connection,
  type ConnectionId,
  DomainError,
  generationNumber,
  isUseNoted,
  NotFoundError,
  type Stores,
  tokenFreshness,
} from '@postern/elicitation';
import { mayUse, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import { ProblemError } from '../platform/http/problems.ts';
import type { Upstream } from '../platform/overload/upstream.ts';
import { providerNotAsked } from '../platform/overload/upstream.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { sealFor } from '../sealing/sealed-delivery.ts';
import type { DecryptedTokenCache, UsableToken } from './decrypted-token-cache.ts';
import type { TokenRefresh } from './token-refresh.ts';

/** Maximum time that a caller waits for a refresh that another caller or replica sends, in milliseconds. */
const OTHERS_WAIT_MS = 5_000;
/** Maximum time that a caller spends on repeats after a failure that may be temporary, in milliseconds. */
const REPEATS_MS = 3_000;
/** `Retry-After` of a caller that got no token, in milliseconds: the other refresh may end at any moment. */
const RETRY_MS = 2_000;
/** Maximum time that a caller with a usable token waits for a fresher one, in milliseconds. */
const EARLY_REFRESH_WAIT_MS = 2_000;
/** A rejected token is not refreshed if its own refresh was less than this time ago, in milliseconds. */
const JUST_REFRESHED_MS = 5_000;
/** A token younger than this, in milliseconds, was not rejected because of its age. */
const YOUNG_MS = 60_000;

/** Returns usable access tokens. Refreshes them and waits if necessary, but never involves the user. */
export function createAccessTokenFlow(p: {
  stores: Pick<Stores, 'connections' | 'notifier'>;
  providers: ProviderRegistry;
  decryptedTokenCache: DecryptedTokenCache;
  tokenRefresh: TokenRefresh;
  upstreamOf: (provider: string) => Pick<Upstream, 'ask' | 'pausedMs'>;
  auditLog: AuditLog;
  now: Clock;
}) {
  const { connections, notifier } = p.stores;
  const reauthorize = () => new DomainError('reauthorization_required', 'The user must authorize again.');

  /**
   * @throws NotFoundError, DomainError `reauthorization_required`, ProblemError `upstream_unavailable`, `provider_unavailable`,
   * `unavailable` during the refresh of another caller
   */
  async function usableConnection(
    caller: RegisteredMcpServer,
    connectionId: ConnectionId,
    rejectedGeneration: number | undefined,
    waiting: () => AbortSignal,
  ): Promise<Connection> {
    const read = async (): Promise<Connection> => {
      const connection = await connections.read(connectionId);
      if (connection === undefined || !mayUse(caller, connection)) throw new NotFoundError('connection');
      if (connection.lost !== undefined) throw reauthorize();
      return connection;
    };
    // Registered before the first read. This caller may join an attempt that began earlier. The response to that attempt may still
    // name another replica as lease holder after the wake-up of that holder has arrived.
    using watch = notifier.watch(connectionId);
    const first = await read();
    const isRejectedOne = (connection: Connection) => generationNumber(connection) === rejectedGeneration;
    const isGood = (connection: Connection) =>
      !isRejectedOne(connection) && tokenFreshness(connection, p.now()) === 'fresh';
    if (isGood(first)) return first;

    const startedAt = performance.now();
    const leftOf = (ms: number) => startedAt + ms - performance.now();
    const signal = waiting();
    /** Whether this caller has seen the failure that postpones the next refresh. Other callers do not wait for the repeat. */
    let isParty = false;
    const upstream = p.upstreamOf(first.provider);
    const shed = () => {
      throw providerNotAsked(first.provider);
    };
    for (let connection = first; ; connection = await read()) {
      // A token set that was stored during the wait is as fresh as possible, however short its lifetime.
      if (isGood(connection) || generationNumber(connection) !== generationNumber(first)) return connection;
      const isRejected = isRejectedOne(connection);
      if (isRejected && connection === first)
        p.auditLog.record('connection.token_rejected', { ...connection, mcpServerId: caller.mcpServerId });
      const isUsable = !isRejected && tokenFreshness(connection, p.now()) !== 'stale';
      if (!connection.refreshable) {
        if (isUsable) return connection;
        // A young token was rejected for another reason than its age, so a new authorization would not help.
        if (isRejected && p.now() - connection.updatedAt < YOUNG_MS) return connection;
        if (isRejected) {
          const lost = await connections.markLost({ current: connection, reason: 'rejected' });
          if (lost.result === 'stored') p.auditLog.record('connection.lost', { ...connection, reason: 'rejected' });
          // The user has reconnected since: the new token set has not been rejected.
          if (lost.result === 'superseded' && lost.connection.lost === undefined) continue;
        }
        throw reauthorize();
      }
      // A caller that rejects every token must not exhaust the rate limit of the provider, which all callers share.
      const isJustRefreshed = connection.generation > 1 && p.now() - connection.updatedAt < JUST_REFRESHED_MS;
      if (isRejected && isJustRefreshed) return connection;
      // A caller with a usable token does not wait for a refresh that is in progress.
      if (isUsable && p.tokenRefresh.isInProgress(connection)) return connection;
      // Only the caller that sends the request waits as long as the request may take.
      const patienceMs = isUsable
        ? EARLY_REFRESH_WAIT_MS
        : p.tokenRefresh.isInProgress(connection)
          ? leftOf(OTHERS_WAIT_MS)
          : undefined;
      const refresh = () => p.tokenRefresh.refresh(connection, isRejected);
      const refreshed = await upstream.ask(
        () => (patienceMs === undefined ? refresh() : withTimeout(refresh(), patienceMs, 'slow' as const)),
        isUsable ? () => 'slow' as const : shed,
      );
      if (refreshed === 'slow' && isUsable) return connection;
      if (refreshed === 'slow') throw new ProblemError('unavailable', { retryAfterMs: RETRY_MS });
      if (refreshed.result === 'refreshed') return refreshed.connection;
      if (refreshed.result === 'changed') continue;
      // Checked again: the token may have expired during the refresh.
      if (!isRejected && tokenFreshness(connection, p.now()) !== 'stale') return connection;
      if (upstream.pausedMs > 0) throw providerNotAsked(first.provider, upstream.pausedMs);
      const { because, retryAfterMs } = refreshed;
      isParty ||= because === 'held' || because === 'failure';
      if (because === 'held') {
        const remainingMs = leftOf(OTHERS_WAIT_MS);
        if (signal.aborted || remainingMs <= 0) throw new ProblemError('unavailable', { retryAfterMs: RETRY_MS });
        await upstream.ask(() => watch.next(Math.min(retryAfterMs, remainingMs), signal), shed);
      } else {
        const isWorthWaiting = isParty && because !== 'refusal' && retryAfterMs <= leftOf(REPEATS_MS);
        if (signal.aborted || !isWorthWaiting) throw new ProblemError('upstream_unavailable', { retryAfterMs });
        await upstream.ask(() => watch.next(retryAfterMs, signal), shed);
      }
    }
  }

  return {
    /**
     * @param waiting returns the signal that ends the wait: the caller has disconnected, or this replica stops
     * @throws NotFoundError (also if the caller may not use the connection), DomainError `reauthorization_required`, ProblemError
     * `upstream_unavailable`, `provider_unavailable`, `encryption_key_not_registered`, `token_not_dpop_bound`
     */
    async getAccessToken(
      caller: RegisteredMcpServer,
      connectionId: ConnectionId,
      request: AccessTokenRequest,
      waiting: () => AbortSignal,
    ): Promise<AccessTokenBody> {
      const { encryption } = caller.config;
      if (request.sealed === true && encryption === undefined) throw new ProblemError('encryption_key_not_registered');
      const connection = await usableConnection(caller, connectionId, request.rejectedGeneration, waiting);
      const [tokens] = await Promise.all([
        p.decryptedTokenCache(connection),
        recordUse(caller, connection, request.tool),
      ]);
      const { scopes, accessTokenExpiresAt, callbackMembers } = connection;
      const generation = generationNumber(connection);
      const apiHosts = p.providers.get(connection.provider)?.apiHosts;
      const facts = {
        tokenType: displayType(tokens.tokenType),
        ...(accessTokenExpiresAt === undefined ? {} : { expiresAt: new Date(accessTokenExpiresAt).toISOString() }),
        scopes: [...scopes],
        generation,
        ...(apiHosts === undefined ? {} : { apiHosts: [...apiHosts] }),
        ...(callbackMembers === undefined ? {} : { callbackMembers }),
        ...(request.dpop === undefined ? {} : { dpopProof: await proof(connection, tokens, request.dpop) }),
      };
      p.auditLog.record('connection.token_read', {
        connectionId,
        mcpServerId: caller.mcpServerId,
        subject: connection.subject,
      });
      if (encryption === undefined || (request.sealed !== true && !encryption.required))
        return { accessToken: tokens.accessToken, ...facts };
      const { mcpServerId } = caller;
      return {
        sealedAccessToken: await sealFor(encryption.key, tokens.accessToken, {
          type: 'access-token',
          mcpServerId,
          connectionId,
          generation,
        }),
        ...facts,
      };
    },
  };

  async function recordUse(
    caller: RegisteredMcpServer,
    connection: Connection,
    tool: string | undefined,
  ): Promise<void> {
    const use = { mcpServerId: caller.mcpServerId, tool };
    if (isUseNoted(connection, use, p.now())) return;
    await connections.recordUse({ connectionId: connection.connectionId, use });
  }

  async function proof(
    connection: Connection,
    tokens: UsableToken,
    request: NonNullable<AccessTokenRequest['dpop']>,
  ): Promise<string> {
    const provider = p.providers.get(connection.provider);
    if (tokens.dpopKey === undefined || provider === undefined) throw new ProblemError('token_not_dpop_bound');
    return provider.dpopProof({
      dpopKey: tokens.dpopKey,
      accessToken: tokens.accessToken,
      method: request.method,
      url: request.url,
      nonce: request.nonce,
    });
  }
}

export type AccessTokenFlow = ReturnType<typeof createAccessTokenFlow>;

/** Returns the token type in the spelling of RFC 6750 and RFC 9449. */
function displayType(tokenType: string): string {
  switch (tokenType.toLowerCase()) {
    case 'bearer':
      return 'Bearer';
    case 'dpop':
      return 'DPoP';
    default:
      return tokenType;
  }
}
