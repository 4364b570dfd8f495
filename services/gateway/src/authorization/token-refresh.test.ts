import type { Provider } from '@postern/authorization';
import { systemEntropy } from '@postern/elicitation';
import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { VaultError, type VaultErrorCode } from '@postern/vault';
import { afterEach, expect, it, vi } from 'vitest';
import { createAuditLog } from '../platform/audit/audit-log.ts';
import { createLogger } from '../platform/logger.ts';
import { createFlowStage } from '../testing/flow-stage.ts';
import { samplePseudonyms } from '../testing/sample-config.ts';
import { createProviderAnswers } from './provider-answers.ts';
import { createRevocationFlow } from './revocation-flow.ts';
import { createTokenRefresh } from './token-refresh.ts';
import type { TokenSet } from './token-set.ts';

// Refreshes by several processes, with real providers and a real Redis: test/e2e and test/replicas.

const tokens: TokenSet = {
  accessToken: 'old-access-token',
  tokenType: 'bearer',
  refreshToken: 'old-refresh-token',
  redirectUri: 'https://gate.example/callback/tracker/forge',
  issuer: 'https://forge.example',
  clientId: undefined,
};

const REQUEST_LIMIT_MS = 10_000;

/** A connection whose token set cannot be sealed at first, at a provider whose discovery takes this long on the fake clock. */
async function setUp(failures: readonly VaultErrorCode[], discovery = { takesMs: 0 }) {
  const stores = createSqliteStores({ path: ':memory:', now: createFakeClock().now });
  const subject = samples.somebody();
  const pending = await samples.created(stores.elicitations, samples.ask(subject));
  const active = await samples.moved(stores.elicitations, pending, samples.engage);
  const putConnection = { ...samples.connectionFor(subject, active.elicitationId), refreshable: true };
  await samples.moved(stores.elicitations, active, { ...samples.complete(active), putConnection });
  const connection = await stores.connections.read(putConnection.connectionId);
  if (connection === undefined) throw new Error('not connected');

  const asked: string[] = [];
  const provider = {
    revocationReach: 'token',
    refresh: async ({ refreshToken, beforeSending }) => {
      if (discovery.takesMs > 0) vi.advanceTimersByTime(discovery.takesMs);
      beforeSending?.();
      asked.push(refreshToken);
      const issued = { accessToken: 'new-access-token', refreshToken: 'new-refresh-token', clientId: 'postern' };
      return { ...issued, tokenType: 'bearer', scopes: [] };
    },
  } satisfies Partial<Provider> as Partial<Provider> as Provider;
  const left = [...failures];
  const sealed: TokenSet[] = [];
  const auditLog = createAuditLog(createLogger({ level: 'silent' }), samplePseudonyms);
  const shared = {
    stores: { ...stores, replicas: { remainingMs: async () => 10_000 } },
    providers: { get: () => provider, names: [connection.provider] },
    tokenSets: {
      open: async () => tokens,
      seal: async (set: TokenSet) => {
        const code = left.shift();
        if (code !== undefined) throw new VaultError(code, 'not now');
        sealed.push(set);
        return 'sealed';
      },
    },
    auditLog,
    providerAnswers: createProviderAnswers({ auditLog, now: Date.now }),
    replicaId: 'rp_test',
    entropy: systemEntropy,
    now: Date.now,
    requestLimitMs: REQUEST_LIMIT_MS,
  };
  const revocationFlow = createRevocationFlow(shared);
  const tokenRefresh = createTokenRefresh({
    ...shared,
    refreshes: new Map(),
    config: { providers: [] },
    revocationFlow,
  });
  return { stores, connection, tokenRefresh, asked, sealed };
}

it('T10: keeps just issued tokens while the key service is unavailable for a moment', async () => {
  const { stores, connection, tokenRefresh, asked, sealed } = await setUp(['key_service_unavailable']);
  await expect(tokenRefresh.refresh(connection)).resolves.toMatchObject({ result: 'refreshed' });
  expect(asked).toEqual(['old-refresh-token']);
  // A record without a client id learns it.
  const issued = { accessToken: 'new-access-token', refreshToken: 'new-refresh-token', clientId: 'postern' };
  expect(sealed).toMatchObject([issued]);
  expect(await stores.connections.read(connection.connectionId)).toMatchObject({
    generation: connection.generation + 1,
    sealedTokens: 'sealed',
  });
});

it('does not wait for a lost key', async () => {
  const { connection, tokenRefresh } = await setUp(['unknown_key']);
  await expect(tokenRefresh.refresh(connection)).rejects.toMatchObject({ code: 'unknown_key' });
});

it('callers in one process share a request, which is reported as in progress', async () => {
  const { connection, tokenRefresh, asked } = await setUp([]);
  expect(tokenRefresh.isInProgress(connection)).toBe(false);
  const calls = [1, 2, 3].map(() => tokenRefresh.refresh(connection));
  expect(tokenRefresh.isInProgress(connection)).toBe(true);
  expect(tokenRefresh.isInProgress({ ...connection, generation: connection.generation + 1 })).toBe(false);
  expect(new Set(await Promise.all(calls)).size).toBe(1);
  expect(tokenRefresh.isInProgress(connection)).toBe(false);
  expect(asked).toHaveLength(1);
});

it('draining waits for the refreshes in progress', async () => {
  const { stores, connection, tokenRefresh } = await setUp([]);
  void tokenRefresh.refresh(connection);
  await tokenRefresh.drain();
  expect((await stores.connections.read(connection.connectionId))?.sealedTokens).toBe('sealed');
});

afterEach(() => {
  vi.useRealTimers();
});

it('T10: sends no refresh request if discovery used up the lease, so a rotating token is used once', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const discovery = { takesMs: REQUEST_LIMIT_MS / 4 + 1 };
  const { connection, tokenRefresh, asked } = await setUp([], discovery);
  expect(await tokenRefresh.refresh(connection)).toMatchObject({ result: 'later', because: 'failure' });
  expect(asked).toEqual([]);
});

it('sends the refresh request if enough of the lease remains after discovery', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { connection, tokenRefresh, asked } = await setUp([], { takesMs: REQUEST_LIMIT_MS / 4 });
  expect(await tokenRefresh.refresh(connection)).toMatchObject({ result: 'refreshed' });
  expect(asked).toEqual(['old-refresh-token']);
});

it('S24: revokes tokens that arrive after the user has disconnected', async () => {
  const revoked: (string | undefined)[] = [];
  const stage = createFlowStage({
    revocationReach: 'token',
    async refresh() {
      await stage.stores.connections.remove({ connectionId: connection.connectionId });
      const issued = { accessToken: 'too-late', refreshToken: 'refresh-too-late', clientId: 'postern' };
      return { ...issued, tokenType: 'bearer', scopes: ['repo'] };
    },
    async revoke({ refreshToken }) {
      revoked.push(refreshToken);
      return 'revoked';
    },
  });
  const connection = await stage.connect();
  expect(await stage.tokenRefresh.refresh(connection)).toEqual({ result: 'changed' });
  expect(revoked).toEqual(['refresh-too-late']);
});
