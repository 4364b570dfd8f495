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
  tokenFreshness,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Events } from '../events.ts';
import { ProblemError } from '../http/problem-error.ts';
import { providerNotAsked } from '../overload/through-upstream.ts';
import type { Upstream } from '../overload/upstream.ts';
import { mayUse, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import { within } from '../within.ts';
import type { OpenedTokens, UsableToken } from './opened-tokens.ts';
import { sealFor } from './sealed-delivery.ts';
import type { TokenRefresh } from './token-refresh.ts';

/** Longest time a caller is kept waiting for a token, in milliseconds, and that beyond the lease of a holder that has died. */
const PATIENCE_MS = 30_000;
const LEASE_MARGIN_MS = 5_000;
/** Longest time a caller who could have a good token at once waits for a better one. */
const DUE_PATIENCE_MS = 2_000;
/** A token set younger than this, in milliseconds, that came by a refresh is not refreshed for having been turned away. */
const JUST_REFRESHED_MS = 5_000;
/** A token set younger than this, in milliseconds, has not become bad by age. */
const YOUNG_MS = 60_000;

/** Hands out access tokens that are good, whatever it takes short of asking the person. */
export function createAccessTokenFlow(p: {
  stores: Pick<RedisStores, 'connections' | 'notifier'>;
  providers: ProviderRegistry;
  openedTokens: OpenedTokens;
  tokenRefresh: TokenRefresh;
  upstreamOf: (provider: string) => Pick<Upstream, 'ask' | 'pausedMs'>;
  events: Events;
  now: Clock;
}) {
  const { connections, notifier } = p.stores;
  const reauthorize = () => new DomainError('reauthorization_required', 'The user must authorize again.');

  /** @throws NotFoundError, DomainError `reauthorization_required`, ProblemError `upstream_unavailable`, `provider_unavailable` */
  async function goodConnection(
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
    // Registered before the first read. This caller may join an attempt that began earlier. The answer to that attempt may still
    // name another replica as holder although the wake-up from the holder has already arrived.
    using watch = notifier.watch(connectionId);
    const first = await read();
    const isRejectedOne = (connection: Connection) => generationNumber(connection) === rejectedGeneration;
    const isGood = (connection: Connection) =>
      !isRejectedOne(connection) && tokenFreshness(connection, p.now()) === 'fresh';
    if (isGood(first)) return first;

    const deadline = performance.now() + Math.max(PATIENCE_MS, p.tokenRefresh.leaseMs + LEASE_MARGIN_MS);
    const signal = waiting();
    const upstream = p.upstreamOf(first.provider);
    const full = () => {
      throw providerNotAsked(first.provider);
    };
    for (let connection = first; ; connection = await read()) {
      // What was stored while waiting is the best there is, however short it lives.
      if (isGood(connection) || generationNumber(connection) !== generationNumber(first)) return connection;
      const isRejected = isRejectedOne(connection);
      if (isRejected && connection === first) p.events.tokenRejected(connection, caller.mcpServerId);
      const isUsable = !isRejected && tokenFreshness(connection, p.now()) !== 'stale';
      if (!connection.refreshable) {
        if (isUsable) return connection;
        // What is seconds old and cannot be renewed is not turned away because it is old: asking the person again would not help.
        if (isRejected && p.now() - connection.updatedAt < YOUNG_MS) return connection;
        if (isRejected) {
          const lost = await connections.markLost({ current: connection, reason: 'rejected' });
          if (lost.result === 'stored') p.events.connectionLost(connection, 'rejected');
          // Connected anew meanwhile: that one has not been rejected by anybody.
          if (lost.result === 'superseded' && lost.connection.lost === undefined) continue;
        }
        throw reauthorize();
      }
      // One who reports every token would use up what the provider allows all of us.
      const isJustRefreshed = connection.generation > 1 && p.now() - connection.updatedAt < JUST_REFRESHED_MS;
      if (isRejected && isJustRefreshed) return connection;
      // A token that is good for now does not wait for a provider that takes its time.
      if (isUsable && p.tokenRefresh.isUnderWay(connection)) return connection;
      const refreshed = await (isUsable
        ? upstream.ask(
            () => within(p.tokenRefresh.refresh(connection), DUE_PATIENCE_MS, 'slow' as const),
            () => 'slow' as const,
          )
        : upstream.ask(() => p.tokenRefresh.refresh(connection), full));
      if (refreshed === 'slow') return connection;
      if (refreshed.result === 'refreshed') return refreshed.connection;
      if (refreshed.result === 'changed') continue;
      // Judged again: it may have become stale while the provider was asked.
      if (!isRejected && tokenFreshness(connection, p.now()) !== 'stale') return connection;
      if (upstream.pausedMs > 0) throw providerNotAsked(first.provider, upstream.pausedMs);
      const left = deadline - performance.now();
      if (signal.aborted || left <= 0 || (refreshed.because === 'trouble' && refreshed.retryAfterMs > left))
        throw new ProblemError('upstream_unavailable', { retryAfterMs: refreshed.retryAfterMs });
      await upstream.ask(() => watch.next(Math.min(refreshed.retryAfterMs, left), signal), full);
    }
  }

  return {
    /**
     * @param waiting gives what ends the waiting: the caller has gone, or this replica stops. Asked only where one waits.
     * @throws NotFoundError (also for those the caller may not use), DomainError `reauthorization_required`, ProblemError
     * `upstream_unavailable`, `provider_unavailable`, `encryption_key_not_registered`, `token_not_dpop_bound`
     */
    async take(
      caller: RegisteredMcpServer,
      connectionId: ConnectionId,
      request: AccessTokenRequest,
      waiting: () => AbortSignal,
    ): Promise<AccessTokenBody> {
      const { encryption } = caller.config;
      if (request.sealed === true && encryption === undefined) throw new ProblemError('encryption_key_not_registered');
      const connection = await goodConnection(caller, connectionId, request.rejectedGeneration, waiting);
      const [tokens] = await Promise.all([p.openedTokens(connection), noteUse(caller, connection, request.tool)]);
      const { scopes, accessTokenExpiresAt } = connection;
      const generation = generationNumber(connection);
      const facts = {
        tokenType: displayType(tokens.tokenType),
        ...(accessTokenExpiresAt === undefined ? {} : { expiresAt: new Date(accessTokenExpiresAt).toISOString() }),
        scopes: [...scopes],
        generation,
        ...(request.dpop === undefined ? {} : { dpopProof: await proof(connection, tokens, request.dpop) }),
      };
      p.events.tokenRead({ connectionId, mcpServerId: caller.mcpServerId, subject: connection.subject });
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

  async function noteUse(caller: RegisteredMcpServer, connection: Connection, tool: string | undefined): Promise<void> {
    const use = { mcpServerId: caller.mcpServerId, ...(tool === undefined ? {} : { tool }) };
    if (isUseNoted(connection, use, p.now())) return;
    await connections.noteUse({ connectionId: connection.connectionId, use });
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
      ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
    });
  }
}

export type AccessTokenFlow = ReturnType<typeof createAccessTokenFlow>;

/** As RFC 6750 and RFC 9449 write them, whatever case the provider chose. */
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
