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
import { LRUCache } from 'lru-cache';
import { mayUse, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { providerNotAsked, type Upstream } from '../platform/overload/upstream.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { sealFor } from '../sealing/sealed-delivery.ts';
import type { TokenRefresh } from './token-refresh.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

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

const reauthorize = () => new DomainError('reauthorization_required', 'The user must authorize again.');

export interface AccessTokenFlowDeps {
  readonly stores: Pick<Stores, 'connections' | 'notifier'>;
  readonly providers: ProviderRegistry;
  readonly tokenSets: TokenSets;
  readonly tokenRefresh: Pick<TokenRefresh, 'refresh' | 'isInProgress'>;
  readonly upstreamOf: (provider: string) => Pick<Upstream, 'ask' | 'pausedMs'>;
  readonly auditLog: AuditLog;
  readonly now: Clock;
}

/** Returns usable access tokens. Refreshes them and waits if necessary, but never involves the user. */
export class AccessTokenFlow {
  readonly #deps: AccessTokenFlowDeps;
  readonly #tokens: DecryptedTokens;

  constructor(deps: AccessTokenFlowDeps) {
    this.#deps = deps;
    this.#tokens = new DecryptedTokens(deps);
  }

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
    const { providers, auditLog } = this.#deps;
    const { encryption } = caller.config;
    if (request.sealed === true && encryption === undefined) throw new ProblemError('encryption_key_not_registered');
    const connection = await this.#usableConnection(caller, connectionId, request.rejectedGeneration, waiting);
    const [tokens] = await Promise.all([
      this.#tokens.open(connection),
      this.#recordUse(caller, connection, request.tool),
    ]);
    const { scopes, accessTokenExpiresAt, callbackMembers } = connection;
    const generation = generationNumber(connection);
    const apiHosts = providers.get(connection.provider)?.apiHosts;
    const facts = {
      tokenType: displayType(tokens.tokenType),
      ...(accessTokenExpiresAt === undefined ? {} : { expiresAt: new Date(accessTokenExpiresAt).toISOString() }),
      scopes: [...scopes],
      generation,
      ...(apiHosts === undefined ? {} : { apiHosts: [...apiHosts] }),
      ...(callbackMembers === undefined ? {} : { callbackMembers }),
      ...(request.dpop === undefined ? {} : { dpopProof: await this.#proof(connection, tokens, request.dpop) }),
    };
    auditLog.record('connection.token_read', {
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
  }

  /**
   * @throws NotFoundError, DomainError `reauthorization_required`, ProblemError `upstream_unavailable`, `provider_unavailable`,
   * `unavailable` during the refresh of another caller
   */
  async #usableConnection(
    caller: RegisteredMcpServer,
    connectionId: ConnectionId,
    rejectedGeneration: number | undefined,
    waiting: () => AbortSignal,
  ): Promise<Connection> {
    const { stores, tokenRefresh, upstreamOf, auditLog, now } = this.#deps;
    const { connections, notifier } = stores;
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
      !isRejectedOne(connection) && tokenFreshness(connection, now()) === 'fresh';
    if (isGood(first)) return first;

    const startedAt = performance.now();
    const leftOf = (ms: number) => startedAt + ms - performance.now();
    const signal = waiting();
    /** Whether this caller has seen the failure that postpones the next refresh. Other callers do not wait for the repeat. */
    let isParty = false;
    const upstream = upstreamOf(first.provider);
    const shed = () => {
      throw providerNotAsked(first.provider);
    };
    for (let connection = first; ; connection = await read()) {
      // A token set that was stored during the wait is as fresh as possible, however short its lifetime.
      if (isGood(connection) || generationNumber(connection) !== generationNumber(first)) return connection;
      const isRejected = isRejectedOne(connection);
      if (isRejected && connection === first)
        auditLog.record('connection.token_rejected', { ...connection, mcpServerId: caller.mcpServerId });
      const isUsable = !isRejected && tokenFreshness(connection, now()) !== 'stale';
      if (!connection.refreshable) {
        if (isUsable) return connection;
        // A young token was rejected for another reason than its age, so a new authorization would not help.
        if (isRejected && now() - connection.updatedAt < YOUNG_MS) return connection;
        if (isRejected) {
          const lost = await connections.markLost({ current: connection, reason: 'rejected' });
          if (lost.result === 'stored') auditLog.record('connection.lost', { ...connection, reason: 'rejected' });
          // The user has reconnected since: the new token set has not been rejected.
          if (lost.result === 'superseded' && lost.connection.lost === undefined) continue;
        }
        throw reauthorize();
      }
      // A caller that rejects every token must not exhaust the rate limit of the provider, which all callers share.
      const isJustRefreshed = connection.generation > 1 && now() - connection.updatedAt < JUST_REFRESHED_MS;
      if (isRejected && isJustRefreshed) return connection;
      // A caller with a usable token does not wait for a refresh that is in progress.
      if (isUsable && tokenRefresh.isInProgress(connection)) return connection;
      // Only the caller that sends the request waits as long as the request may take.
      const patienceMs = isUsable
        ? EARLY_REFRESH_WAIT_MS
        : tokenRefresh.isInProgress(connection)
          ? leftOf(OTHERS_WAIT_MS)
          : undefined;
      const refresh = () => tokenRefresh.refresh(connection, isRejected);
      const refreshed = await upstream.ask(
        () => (patienceMs === undefined ? refresh() : withTimeout(refresh(), patienceMs, 'slow' as const)),
        isUsable ? () => 'slow' as const : shed,
      );
      if (refreshed === 'slow' && isUsable) return connection;
      if (refreshed === 'slow') throw new ProblemError('unavailable', { retryAfterMs: RETRY_MS });
      if (refreshed.result === 'refreshed') return refreshed.connection;
      if (refreshed.result === 'changed') continue;
      // Checked again: the token may have expired during the refresh.
      if (!isRejected && tokenFreshness(connection, now()) !== 'stale') return connection;
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

  async #recordUse(caller: RegisteredMcpServer, connection: Connection, tool: string | undefined): Promise<void> {
    const { stores, now } = this.#deps;
    const use = { mcpServerId: caller.mcpServerId, tool };
    if (isUseNoted(connection, use, now())) return;
    await stores.connections.recordUse({ connectionId: connection.connectionId, use });
  }

  async #proof(
    connection: Connection,
    tokens: UsableToken,
    request: NonNullable<AccessTokenRequest['dpop']>,
  ): Promise<string> {
    const provider = this.#deps.providers.get(connection.provider);
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

/** The part of a token set that an MCP server may receive. Never includes the refresh token. */
export type UsableToken = Pick<TokenSet, 'accessToken' | 'tokenType' | 'dpopKey'>;

/** Lifetime of an entry, in milliseconds. */
const LIFETIME_MS = 60_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly sealed: string;
  /** Pending while the token set is being opened. An entry whose opening failed is deleted. */
  readonly token: Promise<UsableToken>;
}

/**
 * Opens the access tokens of connections and caches them for one to two minutes: a tool requests the same token many times, and
 * opening it costs more than the rest of the request. Concurrent callers share one opening, above all the callers that waited for the
 * same refresh. An entry is valid only for the sealed value that it came from, so the cache never returns a token of a replaced token
 * set or a removed connection.
 */
export class DecryptedTokens {
  readonly #tokenSets: TokenSets;
  readonly #entries: LRUCache<ConnectionId, Entry>;
  #pruning: NodeJS.Timeout | undefined;

  constructor({ tokenSets, now }: { readonly tokenSets: TokenSets; readonly now: Clock }) {
    this.#tokenSets = tokenSets;
    // lru-cache keeps an entry through the last millisecond of its ttl.
    this.#entries = new LRUCache({ max: MAX_ENTRIES, ttl: LIFETIME_MS - 1, ttlResolution: 0, perf: { now } });
  }

  async open(connection: Connection): Promise<UsableToken> {
    const { connectionId, sealedTokens: sealed } = connection;
    const found = this.#entries.get(connectionId);
    if (found?.sealed === sealed) return found.token;
    const entry: Entry = { sealed, token: this.#openAnew(connection) };
    this.#entries.set(connectionId, entry);
    this.#pruning ??= setTimeout(() => this.#prune(), LIFETIME_MS).unref();
    try {
      return await entry.token;
    } catch (error) {
      // A later call tries again. A newer entry stays.
      if (this.#entries.peek(connectionId) === entry) this.#entries.delete(connectionId);
      throw error;
    }
  }

  #prune(): void {
    this.#entries.purgeStale();
    this.#pruning = this.#entries.size > 0 ? setTimeout(() => this.#prune(), LIFETIME_MS).unref() : undefined;
  }

  async #openAnew(connection: Connection): Promise<UsableToken> {
    const { accessToken, tokenType, dpopKey } = await this.#tokenSets.open(connection);
    return { accessToken, tokenType, dpopKey };
  }
}
