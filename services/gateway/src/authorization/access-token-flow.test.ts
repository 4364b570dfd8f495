import { AuthorizationError, type Provider, type RefreshedGrant } from '@postern/authorization';
import { newOperationId } from '@postern/elicitation';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Upstream } from '../platform/overload/upstream.ts';
import { createFlowStage, sampleTokens } from '../testing/flow-stage.ts';
import { AccessTokenFlow } from './access-token-flow.ts';

const MINUTE = 60_000;
const never = () => new AbortController().signal;

// The flow measures its wait, so timers, the monotonic clock and the stores share one fake clock.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** @param isSlow whether the test resolves the refresh itself, with `answer` */
function setUp(
  p: {
    isSlow?: boolean;
    upstream?: Partial<Upstream>;
    apiHosts?: readonly string[];
    rotatesRefreshTokens?: boolean | undefined;
    replicaRemainingMs?: number;
  } = {},
) {
  const asked: string[] = [];
  let announce: (() => void) | undefined;
  const pending: PromiseWithResolvers<RefreshedGrant>[] = [];
  const grant = (): RefreshedGrant => ({
    accessToken: `access-token-${asked.length + 1}`,
    refreshToken: `refresh-token-${asked.length + 1}`,
    tokenType: 'bearer',
    clientId: 'postern',
    scopes: ['repo'],
    expiresAt: stage.clock.now() + 60 * MINUTE,
  });
  const stage = createFlowStage(
    {
      revocationReach: 'token',
      apiHosts: p.apiHosts,
      rotatesRefreshTokens: p.rotatesRefreshTokens,
      refresh: async ({ refreshToken }) => {
        asked.push(refreshToken);
        const answer = Promise.withResolvers<RefreshedGrant>();
        pending.push(answer);
        if (p.isSlow !== true) answer.resolve(grant());
        announce?.();
        return answer.promise;
      },
    } satisfies Partial<Provider>,
    p.replicaRemainingMs === undefined ? {} : { replicaRemainingMs: p.replicaRemainingMs },
  );
  const waiting = Promise.withResolvers<void>();
  const { notifier } = stage.stores;
  const watchful = {
    watch(id: Parameters<typeof notifier.watch>[0]) {
      const watch = notifier.watch(id);
      return {
        next(timeoutMs: number, signal?: AbortSignal) {
          const woken = watch.next(timeoutMs, signal);
          waiting.resolve();
          return woken;
        },
        [Symbol.dispose]: () => watch[Symbol.dispose](),
      };
    },
  };
  const flow = new AccessTokenFlow({
    ...stage,
    stores: { ...stage.stores, notifier: watchful },
    upstreamOf: () => ({ ask: work => work(), pausedMs: 0, ...p.upstream }),
  });
  return {
    ...stage,
    asked,
    getAccessToken: flow.getAccessToken.bind(flow),
    /** Resolves when a caller waits for another replica. */
    isWaiting: waiting.promise,
    isAsked: (): Promise<void> =>
      asked.length > 0 ? Promise.resolve() : new Promise(resolve => (announce = () => resolve())),
    answer: () => pending.shift()?.resolve(grant()),
    fail: () => pending.shift()?.reject(new AuthorizationError('provider_unavailable')),
    async passes(ms: number): Promise<void> {
      stage.clock.advance(ms);
      await vi.advanceTimersByTimeAsync(ms);
    },
  };
}

describe('S90: the access token response', () => {
  it('names the API hosts of the provider', async () => {
    const stage = setUp({ apiHosts: ['api.github.example', '*.github.example'] });
    const { connectionId } = await stage.connect();
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
      apiHosts: ['api.github.example', '*.github.example'],
    });
  });

  it('has the members of the callback that are kept with the connection', async () => {
    const stage = setUp();
    const { connectionId, callbackMembers } = await stage.connect();
    expect(callbackMembers).toEqual({ realmId: '9130347798120106' });
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({ callbackMembers });
  });

  it('names no API hosts if none are configured', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect();
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).not.toHaveProperty('apiHosts');
  });
});

describe('a token that is due for a refresh', () => {
  /** A token with a lifetime of one hour, which is due for a refresh in its last five minutes. */
  async function due(stage: ReturnType<typeof setUp>) {
    const connection = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(56 * MINUTE);
    return connection;
  }

  it('a token that is due for a refresh is returned after two seconds while a slow refresh continues in the background', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, never);
    let isTaken = false;
    void taken.then(() => (isTaken = true));
    await stage.isAsked();
    await stage.passes(1_999);
    expect(isTaken).toBe(false);
    await stage.passes(1);
    expect(await taken).toMatchObject({ accessToken: 'access-token-1' });

    // A caller during the refresh does not wait.
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
      accessToken: 'access-token-1',
    });
    stage.answer();
    await stage.tokenRefresh.drain();
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
      accessToken: 'access-token-2',
    });
    expect(stage.asked).toEqual(['refresh-token-1']);
  });

  it('a token that is due for a refresh is returned if the refresh fails', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, never);
    await stage.isAsked();
    stage.fail();
    expect(await taken).toMatchObject({ accessToken: 'access-token-1' });
  });

  it('a token that is due for a refresh is not returned if it expires during a failing refresh', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const caller = new AbortController();
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, () => caller.signal);
    await stage.isAsked();
    stage.clock.advance(5 * MINUTE);
    caller.abort();
    stage.fail();
    await expect(taken).rejects.toMatchObject({ code: 'upstream_unavailable' });
  });
});

describe('a token that the caller reports as rejected', () => {
  it('a token that the caller reports as rejected is refreshed once, even if the caller rejects its successors 200 times in a row', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect();
    const getAccessToken = (rejectedGeneration?: number) =>
      stage.getAccessToken(
        stage.caller(),
        connectionId,
        rejectedGeneration === undefined ? {} : { rejectedGeneration },
        never,
      );
    let { generation } = await getAccessToken();
    for (let report = 0; report < 200; report += 1) ({ generation } = await getAccessToken(generation));
    expect(stage.asked).toEqual(['refresh-token-1']);

    await stage.passes(5_000);
    expect(await getAccessToken(generation)).toMatchObject({ accessToken: 'access-token-3' });
    expect(stage.asked).toEqual(['refresh-token-1', 'refresh-token-2']);
  });

  it('ends a connection without a refresh token, but not in its first minute', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect({ refreshable: false });
    const { generation } = await stage.getAccessToken(stage.caller(), connectionId, {}, never);
    const report = () => stage.getAccessToken(stage.caller(), connectionId, { rejectedGeneration: generation }, never);
    await stage.passes(MINUTE - 1);
    expect(await report()).toMatchObject({ accessToken: 'access-token-1', generation });
    expect((await stage.stored(connectionId)).lost).toBeUndefined();
    await stage.passes(1);
    await expect(report()).rejects.toMatchObject({ code: 'reauthorization_required' });
    expect((await stage.stored(connectionId)).lost).toMatchObject({ reason: 'rejected' });
    expect(stage.asked).toEqual([]);
  });

  it('a token that the caller reports as rejected does not end a new connection that has the same generation number', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect();
    const before = await stage.getAccessToken(stage.caller(), connectionId, {}, never);
    await stage.stores.connections.remove({ connectionId });
    await stage.passes(MINUTE);
    expect(await stage.connect({ tokens: { accessToken: 'another' } })).toMatchObject({ connectionId, generation: 1 });
    const request = { rejectedGeneration: before.generation };
    const after = await stage.getAccessToken(stage.caller(), connectionId, request, never);
    expect(after).toMatchObject({ accessToken: 'another' });
    expect(after.generation).toBeGreaterThan(before.generation);
    expect(stage.asked).toEqual([]);
  });
});

describe('S72: a provider with an open circuit', () => {
  it('fails a request for a stale token immediately, with the provider name and the remaining pause', async () => {
    const stage = setUp({ isSlow: true, upstream: { pausedMs: 7_000 } });
    const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 1 });
    stage.clock.advance(60 * MINUTE);
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, never);
    await stage.isAsked();
    stage.fail();
    const refusal = { code: 'provider_unavailable', provider: 'github', retryAfterMs: 7_000 };
    await expect(taken).rejects.toMatchObject(refusal);
    await expect(stage.getAccessToken(stage.caller(), connectionId, {}, never)).rejects.toMatchObject(refusal);
    expect(stage.asked).toHaveLength(1);
  });

  it('a provider with an open circuit does not delay a token that is still valid, even if its queue is full', async () => {
    const stage = setUp({ upstream: { ask: async (_work, full) => full() } });
    const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(56 * MINUTE);
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
      accessToken: 'access-token-1',
    });
    stage.clock.advance(4 * MINUTE);
    await expect(stage.getAccessToken(stage.caller(), connectionId, {}, never)).rejects.toMatchObject({
      code: 'provider_unavailable',
      provider: 'github',
    });
    expect(stage.asked).toEqual([]);
  });
});

describe('waiting for the refresh of another replica', () => {
  /** Another replica has begun to refresh the stale token, and died. */
  async function held(stage: ReturnType<typeof setUp>, rotates: { rotates?: boolean } = {}) {
    const connection = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE, ...rotates });
    stage.clock.advance(60 * MINUTE);
    const { leaseMs } = stage.tokenRefresh;
    await stage.stores.connections.beginRefresh({ current: connection, holder: 'rp_another 1', leaseMs });
    return connection;
  }

  it('ends when the caller disconnects or the replica stops', async () => {
    const stage = setUp();
    const { connectionId } = await held(stage);
    const caller = new AbortController();
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, () => caller.signal);
    const refused = expect(taken).rejects.toMatchObject({ code: 'unavailable' });
    await stage.isWaiting;
    caller.abort();
    await refused;
    expect(stage.asked).toEqual([]);
  });

  it('ends when the other replica has refreshed, also for a caller that joins an attempt in progress', async () => {
    const stage = setUp();
    const connection = await held(stage);
    const { connectionId } = connection;
    const { connections } = stage.stores;
    const { read, beginRefresh } = connections;
    const getAccessToken = () => stage.getAccessToken(stage.caller(), connectionId, {}, never);

    // Redis has replied that the lease is held, but the reply has not arrived yet.
    const [asked, heldAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(connections, 'beginRefresh').mockImplementationOnce(async p => {
      const begun = await beginRefresh.call(connections, p);
      asked.resolve();
      await heldAnswer.promise;
      return begun;
    });
    const first = getAccessToken();
    await asked.promise;

    // A second caller reads the stale token set. The wake-up arrives before the reply to this read.
    const [hasRead, readAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(connections, 'read').mockImplementationOnce(async id => {
      const stale = await read.call(connections, id);
      hasRead.resolve();
      await readAnswer.promise;
      return stale;
    });
    const second = getAccessToken();
    await hasRead.promise;
    const renewed = {
      sealedTokens: await stage.tokenSets.seal({ ...sampleTokens, accessToken: 'of-the-other-replica' }, connection),
      scopes: connection.scopes,
      refreshable: true,
      accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE,
    };
    await connections.finishRefresh({
      current: connection,
      tokens: renewed,
      operationId: newOperationId(stage.entropy),
    });
    readAnswer.resolve();
    // The second caller joins the attempt of the first one before the reply to that attempt arrives.
    await vi.advanceTimersByTimeAsync(0);
    heldAnswer.resolve();

    // The clock stands still, so a caller that waited for the expiry of the lease would get no response.
    expect(await Promise.all([first, second])).toMatchObject([
      { accessToken: 'of-the-other-replica' },
      { accessToken: 'of-the-other-replica' },
    ]);
    expect(stage.asked).toEqual([]);
  });

  it('ends after five seconds with 503 and Retry-After; after the lease, the next caller refreshes', async () => {
    const stage = setUp();
    const { connectionId } = await held(stage);
    const taken = stage.getAccessToken(stage.caller(), connectionId, {}, never);
    let refusal: unknown;
    taken.catch((error: unknown) => (refusal = error));
    await stage.isWaiting;
    await stage.passes(4_999);
    expect(refusal).toBeUndefined();
    await stage.passes(1);
    expect(refusal).toMatchObject({ code: 'unavailable', retryAfterMs: 2_000 });
    expect(stage.asked).toEqual([]);
    await stage.passes(stage.tokenRefresh.leaseMs - 5_000);
    expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
      accessToken: 'access-token-2',
    });
  });

  it('ends after five seconds also for a caller of the process that refreshes; the first caller gets the token', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(60 * MINUTE);
    const getAccessToken = () => stage.getAccessToken(stage.caller(), connectionId, {}, never);
    const first = getAccessToken();
    await stage.isAsked();
    const refused = expect(getAccessToken()).rejects.toMatchObject({ code: 'unavailable' });
    await stage.passes(5_000);
    await refused;
    stage.answer();
    expect(await first).toMatchObject({ accessToken: 'access-token-2' });
  });

  const leases = [
    ['a token that does not rotate, a replica silent for three seconds', { rotates: false, remainingMs: 7_000 }, true],
    ['a token that does not rotate, a replica that announces itself', { rotates: false, remainingMs: 7_001 }, false],
    ['a rotating token, a silent replica', { rotates: true, remainingMs: 0 }, false],
    ['an unknown provider, a silent replica', { remainingMs: 0 }, false],
    ['a token that is configured as rotating', { rotates: false, configured: true, remainingMs: 0 }, false],
    ['a token that is configured as not rotating', { rotates: true, configured: false, remainingMs: 0 }, true],
  ] as const;
  it.each(leases)(
    'S190: takes the lease of another replica over only where that is harmless: %s',
    async (_, case_, isTaken) => {
      const { remainingMs, configured, ...rotates } = { configured: undefined, ...case_ };
      const stage = setUp({ replicaRemainingMs: remainingMs, rotatesRefreshTokens: configured });
      const { connectionId } = await held(stage, rotates);
      const taken = stage.getAccessToken(stage.caller(), connectionId, {}, never);
      const ended = isTaken
        ? expect(taken).resolves.toMatchObject({ accessToken: 'access-token-2' })
        : expect(taken).rejects.toMatchObject({ code: 'unavailable' });
      if (!isTaken) for (let second = 0; second < 5; second += 1) await stage.passes(1_000);
      await ended;
      expect(stage.asked).toHaveLength(isTaken ? 1 : 0);
    },
  );
});

it('S42: releases no access token to an MCP server that does not own the connection', async () => {
  const stage = setUp();
  const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
  const stranger = stage.getAccessToken(stage.caller('calendar'), connectionId, {}, never);
  await expect(stranger).rejects.toMatchObject({ code: 'not_found' });
  expect(await stage.getAccessToken(stage.caller(), connectionId, {}, never)).toMatchObject({
    accessToken: 'access-token-1',
  });
});
