import { setTimeout as delay } from 'node:timers/promises';
import { AuthorizationError, type ProviderRegistry, type RefreshedGrant } from '@postern/authorization';
import {
  type Connection,
  type Entropy,
  hasGrantEnded,
  newOperationId,
  type Refusals,
  type Stores,
  StoreUnavailableError,
  type TokenSetOf,
} from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { isSilent } from '../platform/replica.ts';
import type { ProviderAnswers } from './provider-answers.ts';
import { providerLeaseMs, type RevocationFlow } from './revocation-flow.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

export type RefreshResult =
  /** A newer token set was stored. */
  | { readonly result: 'refreshed'; readonly connection: Connection }
  /** The connection has changed: read it again. */
  | { readonly result: 'changed' }
  /**
   * `held`: another replica is refreshing. `postponed`: an earlier refresh failed, and the next one is not due. `failure`: this one
   * failed, perhaps for a moment. `refusal`: the provider's answer was definite, so an early repeat cannot help.
   */
  | {
      readonly result: 'later';
      readonly retryAfterMs: number;
      readonly because: 'held' | 'postponed' | 'failure' | 'refusal';
    };

export interface TokenRefresh {
  /** @param isRejected whether the API has rejected the access token of this token set */
  refresh(connection: Connection, isRejected?: boolean): Promise<RefreshResult>;
  /** Whether this process is refreshing this token set now. */
  isInProgress(connection: TokenSetOf): boolean;
  /** Waits for the refreshes in progress: the process must not stop before their token sets are stored. */
  drain(): Promise<void>;
  /** Maximum duration of a refresh lease, in milliseconds. */
  readonly leaseMs: number;
}

/** The result of an attempt that all callers share. `refusals` do not depend on the caller; what follows from them does. */
type Attempt = RefreshResult & { readonly refusals?: Refusals; readonly isUnfinished?: boolean };

/** By token set. */
export type RefreshesInProgress = Map<string, Promise<Attempt>>;

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** The longest pause after a definite refusal, in milliseconds: repeats find out only whether the provider changes its mind. */
const LONGEST_REFUSED_MS = 15 * 60_000;
/** How often a waiting caller looks whether the replica with the lease is alive, in milliseconds. */
const HEARTBEAT_POLL_MS = 1_000;
/**
 * Maximum time to retry storing an issued token set, in milliseconds. If Redis or the key service stays down, the grant is
 * lost.
 */
const STORE_TIMEOUT_MS = 30_000;
/** Short: after the lease has expired, another replica may refresh with the old token before this one stores the new one. */
const STORE_RETRY_MS = 50;

/**
 * Refreshes token sets. All callers on all replicas share one request: callers in one process share a promise, and processes use a
 * lease in Redis. The lease lasts longer than the longest request, and a request that might outlive the lease is not sent. So a
 * rotating refresh token is never used twice, which a provider would treat as theft (RFC 9700 section 4.14.2).
 */
export function createTokenRefresh(p: {
  config: Pick<GatewayConfig, 'providers'>;
  stores: Pick<Stores, 'connections'> & { readonly replicas: Pick<Stores['replicas'], 'remainingMs'> };
  /** Id of this replica in the list of replicas. */
  replicaId: string;
  providerAnswers: ProviderAnswers;
  revocationFlow: RevocationFlow;
  providers: ProviderRegistry;
  tokenSets: TokenSets;
  auditLog: AuditLog;
  entropy: Entropy;
  /** Timeout of one request to a provider, in milliseconds. */
  requestLimitMs: number;
  /** The refreshes in progress of this process, shared by all configurations. */
  refreshes: RefreshesInProgress;
}): TokenRefresh {
  const { connections } = p.stores;
  const leaseMs = providerLeaseMs(p.requestLimitMs);
  const inProgress = p.refreshes;

  const keyOf = ({ connectionId, createdAt, generation }: TokenSetOf) => `${connectionId} ${createdAt} ${generation}`;

  async function refresh(connection: Connection, isRejected = false): Promise<RefreshResult> {
    const key = keyOf(connection);
    const result = await shared(key, () => begin(connection));
    const { refusals, isUnfinished = false } = result;
    if (refusals === undefined || !hasGrantEnded(refusals, { isRejected, isUnfinished })) return result;
    if (p.providerAnswers.isSuspect(connection.provider)) return result;
    return shared(`${key} lost`, () => lose(connection));
  }

  function shared(key: string, work: () => Promise<Attempt>): Promise<Attempt> {
    let attempt = inProgress.get(key);
    if (attempt === undefined) {
      attempt = work().finally(() => inProgress.delete(key));
      inProgress.set(key, attempt);
    }
    return attempt;
  }

  /** Refusals of a token set only grow, and markLost spares the next token set, so no other replica can make the decision wrong. */
  async function lose(connection: Connection, took: { tookMs?: number } = {}): Promise<Attempt> {
    const lost = await connections.markLost({ current: connection, reason: 'refused' });
    if (lost.result === 'stored') p.auditLog.record('connection.lost', { ...connection, ...took, reason: 'refused' });
    return { result: 'changed' };
  }

  async function begin(current: Connection): Promise<Attempt> {
    const holder = `${p.replicaId} ${newOperationId(p.entropy)}`;
    const requestedAt = performance.now();
    const take = (goneHolder?: string) => connections.beginRefresh({ current, holder, leaseMs, goneHolder });
    let begun = await take();
    // A silent replica may be frozen and continue later. Two refreshes at once are harmless only where a refresh token can be used again.
    const mayTakeOver = begun.result === 'held' && !mayRotate(current);
    if (begun.result === 'held' && mayTakeOver && (await isSilent(p.stores.replicas, replicaOf(begun.holder))))
      begun = await take(begun.holder);
    switch (begun.result) {
      case 'held': {
        const retryAfterMs = mayTakeOver ? Math.min(begun.retryAfterMs, HEARTBEAT_POLL_MS) : begun.retryAfterMs;
        return { result: 'later', retryAfterMs, because: 'held' };
      }
      case 'postponed': {
        const { retryAfterMs, refusals } = begun;
        return { result: 'later', retryAfterMs, because: 'postponed', refusals };
      }
      case 'superseded':
      case 'missing':
        return { result: 'changed' };
      case 'begun': {
        const { connection, failures, isUnfinished } = begun;
        return send(connection, { holder, failures, isUnfinished, requestedAt });
      }
    }
  }

  /** Whether the refresh token may be spent by its use. The configuration counts more than the last refresh. */
  function mayRotate({ provider, rotates }: Connection): boolean {
    return (p.providers.get(provider)?.rotatesRefreshTokens ?? rotates) !== false;
  }

  async function send(connection: Connection, lease: Lease): Promise<Attempt> {
    const provider = p.providers.get(connection.provider);
    if (provider === undefined) return postpone(connection, lease, 'unknown_provider');
    let tokens: TokenSet | undefined;
    let grant: RefreshedGrant;
    try {
      tokens = await p.tokenSets.open(connection);
      if (tokens.refreshToken === undefined) throw new TypeError('the connection says that it can be refreshed');
      grant = await provider.refresh({
        refreshToken: tokens.refreshToken,
        scopes: connection.scopes,
        redirectUri: new URL(tokens.redirectUri),
        resource: connection.resource,
        issuer: tokens.issuer,
        clientId: tokens.clientId,
        dpopKey: tokens.dpopKey,
        // Discovery may take several requests, and the process may be paused. After that, the rest of the lease may be too short for
        // the request. The next attempt finds the metadata in the cache.
        beforeSending() {
          if (performance.now() - lease.requestedAt > p.requestLimitMs / 4) throw new AuthorizationError('too_late');
        },
      });
    } catch (error) {
      if (!(error instanceof AuthorizationError)) {
        await postpone(connection, lease, 'internal_error');
        throw error;
      }
      if (!saysGrantEnded(error, tokens)) {
        // A remote MCP server may name another authorization server, which ends the grants of the former one. It may also be a mistake
        // of a moment, so one reading is not enough. Another issuer in the configuration may be a mistake that nothing ends.
        const isRefusal =
          error.code === 'issuer_mismatch'
            ? isRemote(connection.provider)
            : p.providerAnswers.failed(connection, tokens?.clientId, error);
        return postpone(connection, lease, error.code, { isRefusal, isDefinite: error.refuses !== undefined });
      }
      return lose(connection, tookOf(lease));
    }
    p.providerAnswers.accepted(connection, grant.clientId);
    return store(connection, lease, { previous: tokens, grant });
  }

  /** Stores the grant before any caller receives it: the old refresh token may be invalid from now on. */
  async function store(
    connection: Connection,
    lease: Lease,
    { previous, grant }: { previous: TokenSet; grant: RefreshedGrant },
  ): Promise<Attempt> {
    const tokens: TokenSet = {
      ...previous,
      accessToken: grant.accessToken,
      tokenType: grant.tokenType,
      clientId: grant.clientId,
      refreshToken: grant.refreshToken ?? previous.refreshToken,
    };
    const sealedTokens = await retryWhileUnavailable(() => p.tokenSets.seal(tokens, connection));
    const operationId = newOperationId(p.entropy);
    const change = await retryWhileUnavailable(() =>
      connections.finishRefresh({
        current: connection,
        tokens: {
          sealedTokens,
          scopes: [...grant.scopes].sort(),
          refreshable: true,
          rotates: grant.refreshToken !== undefined && grant.refreshToken !== previous.refreshToken,
          accessTokenExpiresAt: grant.expiresAt,
        },
        operationId,
      }),
    );
    switch (change.result) {
      case 'stored':
        p.auditLog.record('connection.refreshed', { ...change.connection, ...tookOf(lease) });
        return { result: 'refreshed', connection: change.connection };
      case 'superseded':
        return { result: 'changed' };
      case 'missing': {
        // The user disconnected during the refresh: revokes the new grant too, unless another connection shares it.
        await retryWhileUnavailable(() => p.revocationFlow.revokeGrant({ ...connection, sealedTokens }));
        return { result: 'changed' };
      }
    }
  }

  /** Repeats an idempotent step while Redis or the key service is unavailable. */
  async function retryWhileUnavailable<T>(step: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + STORE_TIMEOUT_MS;
    while (true) {
      try {
        return await step();
      } catch (error) {
        const isUnavailable =
          error instanceof StoreUnavailableError ||
          (error instanceof VaultError && error.code === 'key_service_unavailable');
        if (!isUnavailable || performance.now() > giveUpAt) throw error;
        await delay(STORE_RETRY_MS);
      }
    }
  }

  /** Whether the answer alone says that the grant has ended, so that the user must authorize again. */
  function saysGrantEnded({ code }: AuthorizationError, tokens: TokenSet | undefined): boolean {
    if (code !== 'issuer_mismatch') return code === 'grant_refused';
    // Tokens without an issuer match no issuer, so no later attempt can succeed.
    return tokens !== undefined && tokens.issuer === undefined;
  }

  const isRemote = (name: string) =>
    p.config.providers.some(config => config.name === name && config.mcpResource !== undefined);

  /** @param is.isDefinite whether the provider would give a repeat within seconds the same response */
  async function postpone(
    connection: Connection,
    lease: Lease,
    code: string,
    is: { readonly isRefusal: boolean; readonly isDefinite: boolean } = { isRefusal: false, isDefinite: false },
  ): Promise<Attempt> {
    const { holder, failures, isUnfinished } = lease;
    const [firstMs, longestMs] = is.isRefusal
      ? [LONGEST_BACK_OFF_MS, LONGEST_REFUSED_MS]
      : [FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS];
    const maxDelayMs = Math.min(firstMs * 2 ** failures, longestMs);
    // Half of the delay is jitter, so that the connections of one provider do not retry in lockstep.
    const delayMs = Math.round(maxDelayMs / 2 + (maxDelayMs / 2) * ((p.entropy(1)[0] ?? 0) / 255));
    p.auditLog.record('connection.refresh_postponed', { ...connection, code, delayMs, ...tookOf(lease) });
    const { isRefusal } = is;
    const refusals = await connections.postponeRefresh({ current: connection, holder, delayMs, isRefusal });
    const because = is.isDefinite ? 'refusal' : 'failure';
    return { result: 'later', retryAfterMs: delayMs, because, isUnfinished, refusals };
  }

  return {
    refresh,
    leaseMs,
    isInProgress: connection => inProgress.has(keyOf(connection)),
    async drain() {
      await Promise.allSettled(inProgress.values());
    },
  };
}

/** The first word of a lease holder is the id of its replica. */
const replicaOf = (holder: string): string => holder.split(' ', 1)[0] ?? '';

interface Lease {
  readonly holder: string;
  /** Number of failed refreshes in a row. */
  readonly failures: number;
  /** Whether an earlier lease ended without a result. */
  readonly isUnfinished: boolean;
  /** When the lease was requested, on the monotonic clock. */
  readonly requestedAt: number;
}

const tookOf = ({ requestedAt }: Lease) => ({ tookMs: Math.round(performance.now() - requestedAt) });
