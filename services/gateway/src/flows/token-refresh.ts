import { setTimeout as delay } from 'node:timers/promises';
import { AuthorizationError, type ProviderRegistry, type RefreshedGrant } from '@postern/authorization';
import {
  type Connection,
  type Entropy,
  newOperationId,
  StoreUnavailableError,
  type TokenSetOf,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { VaultError } from '@postern/vault';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Events } from '../events.ts';
import { providerLeaseMs } from './provider-lease.ts';
import type { RevocationFlow } from './revocation-flow.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

export type RefreshResult =
  /** There is a newer token set, stored before anybody gets to see it. */
  | { readonly result: 'refreshed'; readonly connection: Connection }
  /** The connection has changed, by whomever: it is to be read again. */
  | { readonly result: 'changed' }
  /** Somebody else is asking the provider, or the provider is in trouble. */
  | { readonly result: 'later'; readonly retryAfterMs: number; readonly because: 'held' | 'trouble' };

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/**
 * What the provider has issued is worth the patience: a store or key service that is away comes back within this time, or the
 * grant is lost.
 */
const KEEP_PATIENCE_MS = 30_000;
/** Short: once the lease is over, whoever is first after the store has come back decides what becomes of the grant. */
const KEEP_RETRY_MS = 50;

/**
 * Renews token sets. Of all callers on all replicas one asks the provider: within this process they share one promise, between
 * processes the lease in the store decides. The lease outlives the longest request, and a request that could not end within it
 * is not begun, so that two requests with one rotating refresh token (which providers take for theft, RFC 9700 section
 * 4.14.2) do not happen.
 */
export function createTokenRefresh(p: {
  config: Pick<GatewayConfig, 'providers'>;
  stores: Pick<RedisStores, 'connections'>;
  revocationFlow: RevocationFlow;
  providers: ProviderRegistry;
  tokenSets: TokenSets;
  events: Events;
  entropy: Entropy;
  /** Longest time one request to a provider takes, in milliseconds. */
  requestLimitMs: number;
}) {
  const { connections } = p.stores;
  const leaseMs = providerLeaseMs(p.requestLimitMs);
  const underWay = new Map<string, Promise<RefreshResult>>();

  const keyOf = ({ connectionId, createdAt, generation }: TokenSetOf) => `${connectionId} ${createdAt} ${generation}`;

  function refresh(connection: Connection): Promise<RefreshResult> {
    const key = keyOf(connection);
    let attempt = underWay.get(key);
    if (attempt === undefined) {
      attempt = begin(connection).finally(() => underWay.delete(key));
      underWay.set(key, attempt);
    }
    return attempt;
  }

  async function begin(current: Connection): Promise<RefreshResult> {
    const holder = newOperationId(p.entropy);
    const askedAt = performance.now();
    const begun = await connections.beginRefresh({ current, holder, leaseMs });
    switch (begun.result) {
      case 'held':
        return { result: 'later', retryAfterMs: begun.retryAfterMs, because: 'held' };
      case 'postponed':
        return { result: 'later', retryAfterMs: begun.retryAfterMs, because: 'trouble' };
      case 'superseded':
      case 'missing':
        return { result: 'changed' };
      case 'begun':
        return ask(begun.connection, { holder, troubles: begun.troubles, askedAt });
    }
  }

  async function ask(connection: Connection, lease: Lease): Promise<RefreshResult> {
    const provider = p.providers.get(connection.provider);
    if (provider === undefined) return later(connection, lease, 'unknown_provider');
    let tokens: TokenSet | undefined;
    let grant: RefreshedGrant;
    try {
      tokens = await p.tokenSets.open(connection);
      if (tokens.refreshToken === undefined) throw new TypeError('the connection says that it can be refreshed');
      // Discovery may take several requests. Whoever has used up the margin with it, or was stopped for so long, must not use what
      // is left of the lease; the next one finds everything at hand.
      await provider.destinationHost();
      if (performance.now() - lease.askedAt > p.requestLimitMs / 4) return later(connection, lease, 'too_late');
      grant = await provider.refresh({
        refreshToken: tokens.refreshToken,
        scopes: connection.scopes,
        redirectUri: new URL(tokens.redirectUri),
        ...(connection.resource === undefined ? {} : { resource: connection.resource }),
        issuer: tokens.issuer,
        ...(tokens.dpopKey === undefined ? {} : { dpopKey: tokens.dpopKey }),
      });
    } catch (error) {
      if (!(error instanceof AuthorizationError)) {
        await later(connection, lease, 'internal_error');
        throw error;
      }
      if (!isOver(error, connection.provider, tokens)) return later(connection, lease, error.code);
      const lost = await connections.markLost({ current: connection, reason: 'refused' });
      if (lost.result === 'stored') p.events.connectionLost(connection, 'refused', tookOf(lease));
      return { result: 'changed' };
    }
    return keep(connection, lease, { before: tokens, grant });
  }

  /** Stored first, used afterwards: from here on the old refresh token may be worthless. */
  async function keep(
    connection: Connection,
    lease: Lease,
    { before, grant }: { before: TokenSet; grant: RefreshedGrant },
  ): Promise<RefreshResult> {
    const tokens: TokenSet = {
      ...before,
      accessToken: grant.accessToken,
      tokenType: grant.tokenType,
      ...(grant.refreshToken === undefined ? {} : { refreshToken: grant.refreshToken }),
    };
    const sealedTokens = await patiently(() => p.tokenSets.seal(tokens, connection));
    const operationId = newOperationId(p.entropy);
    const change = await patiently(() =>
      connections.finishRefresh({
        current: connection,
        tokens: {
          sealedTokens,
          scopes: [...grant.scopes].sort(),
          refreshable: true,
          ...(grant.expiresAt === undefined ? {} : { accessTokenExpiresAt: grant.expiresAt }),
        },
        operationId,
      }),
    );
    switch (change.result) {
      case 'stored':
        p.events.tokensRefreshed(change.connection, tookOf(lease));
        return { result: 'refreshed', connection: change.connection };
      case 'superseded':
        return { result: 'changed' };
      case 'missing': {
        // Its person disconnected meanwhile: what was just issued must end as well, unless more would end with it.
        await patiently(() => p.revocationFlow.endGrant({ ...connection, sealedTokens }));
        return { result: 'changed' };
      }
    }
  }

  /** Repeats a step that may be repeated, while what it needs is away. */
  async function patiently<T>(step: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + KEEP_PATIENCE_MS;
    while (true) {
      try {
        return await step();
      } catch (error) {
        const isAway =
          error instanceof StoreUnavailableError ||
          (error instanceof VaultError && error.code === 'key_service_unavailable');
        if (!isAway || performance.now() > giveUpAt) throw error;
        await delay(KEEP_RETRY_MS);
      }
    }
  }

  /** Whether the grant has ended, so that the user must authorize again. */
  function isOver({ code }: AuthorizationError, name: string, tokens: TokenSet | undefined): boolean {
    if (code !== 'issuer_mismatch') return code === 'grant_refused';
    // A remote MCP server may name another authorization server, which ends the grants of the former one. If the operator
    // configured another issuer, it may be a mistake, which must not end the grants of all users. Tokens without an issuer
    // match no issuer, so no later attempt can succeed.
    const isNamedByOthers = p.config.providers.some(config => config.name === name && config.mcpResource !== undefined);
    return isNamedByOthers || (tokens !== undefined && tokens.issuer === undefined);
  }

  async function later(connection: Connection, lease: Lease, code: string): Promise<RefreshResult> {
    const { holder, troubles } = lease;
    const full = Math.min(FIRST_BACK_OFF_MS * 2 ** troubles, LONGEST_BACK_OFF_MS);
    // Half of it is left to chance, so that many connections of one provider do not come back at once.
    const delayMs = Math.round(full / 2 + (full / 2) * ((p.entropy(1)[0] ?? 0) / 255));
    p.events.refreshPostponed(connection, { code, delayMs, ...tookOf(lease) });
    await connections.postponeRefresh({ current: connection, holder, delayMs });
    return { result: 'later', retryAfterMs: delayMs, because: 'trouble' };
  }

  return {
    refresh,
    /** How long a token set is another's to renew, at most, in milliseconds. */
    leaseMs,
    /** Whether this process is renewing this token set now. */
    isUnderWay: (connection: TokenSetOf): boolean => underWay.has(keyOf(connection)),
    /** Waits for the requests under way: what they bring must not get lost with the process. */
    async drain(): Promise<void> {
      await Promise.allSettled(underWay.values());
    },
  };
}

interface Lease {
  readonly holder: string;
  /** Failures in a row before. */
  readonly troubles: number;
  /** Just before it was taken, on the monotonic clock. */
  readonly askedAt: number;
}

const tookOf = ({ askedAt }: Lease) => ({ tookMs: Math.round(performance.now() - askedAt) });

export type TokenRefresh = ReturnType<typeof createTokenRefresh>;
