import { AuthorizationError, type Provider, type RefreshedGrant } from '@postern/authorization';
import { newOperationId } from '@postern/elicitation';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Upstream } from '../overload/upstream.ts';
import { createFlowStage, sampleTokens } from '../testing/flow-stage.ts';
import { createAccessTokenFlow } from './access-token-flow.ts';
import { createOpenedTokens } from './opened-tokens.ts';

const MINUTE = 60_000;
const never = () => new AbortController().signal;

// The waiting is measured, so time is told here: that of the timers, of the monotonic clock and of the stores move together.
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** @param isSlow whether the test itself answers what the provider is asked, with `answer`. */
function setUp(p: { isSlow?: boolean; requestLimitMs?: number; upstream?: Partial<Upstream> } = {}) {
  const asked: string[] = [];
  let announce: (() => void) | undefined;
  const pending: PromiseWithResolvers<RefreshedGrant>[] = [];
  const grant = (): RefreshedGrant => ({
    accessToken: `access-token-${asked.length + 1}`,
    refreshToken: `refresh-token-${asked.length + 1}`,
    tokenType: 'bearer',
    scopes: ['repo'],
    expiresAt: stage.clock.now() + 60 * MINUTE,
  });
  const stage = createFlowStage(
    {
      destinationHost: () => 'github.example',
      revocationReach: 'token',
      refresh: async ({ refreshToken }) => {
        asked.push(refreshToken);
        const answer = Promise.withResolvers<RefreshedGrant>();
        pending.push(answer);
        if (p.isSlow !== true) answer.resolve(grant());
        announce?.();
        return answer.promise;
      },
    } satisfies Partial<Provider>,
    p.requestLimitMs === undefined ? {} : { requestLimitMs: p.requestLimitMs },
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
  const { take } = createAccessTokenFlow({
    ...stage,
    stores: { ...stage.stores, notifier: watchful },
    openedTokens: createOpenedTokens(stage),
    upstreamOf: () => ({ ask: work => work(), pausedMs: 0, ...p.upstream }),
  });
  return {
    ...stage,
    asked,
    take,
    /** Resolves when a caller waits for somebody else. */
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

describe('a due token', () => {
  /** Lives for an hour and is due in its last five minutes. */
  async function due(stage: ReturnType<typeof setUp>) {
    const connection = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(56 * MINUTE);
    return connection;
  }

  it('is handed out after two seconds, while a slow refresh goes on by itself', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const taken = stage.take(stage.caller(), connectionId, {}, never);
    let isTaken = false;
    void taken.then(() => (isTaken = true));
    await stage.isAsked();
    await stage.passes(1_999);
    expect(isTaken).toBe(false);
    await stage.passes(1);
    expect(await taken).toMatchObject({ accessToken: 'access-token-1' });

    // Whoever comes meanwhile does not wait at all.
    expect(await stage.take(stage.caller(), connectionId, {}, never)).toMatchObject({ accessToken: 'access-token-1' });
    stage.answer();
    await stage.tokenRefresh.drain();
    expect(await stage.take(stage.caller(), connectionId, {}, never)).toMatchObject({ accessToken: 'access-token-2' });
    expect(stage.asked).toEqual(['refresh-token-1']);
  });

  it('is handed out when the refresh fails', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const taken = stage.take(stage.caller(), connectionId, {}, never);
    await stage.isAsked();
    stage.fail();
    expect(await taken).toMatchObject({ accessToken: 'access-token-1' });
  });

  it('is not handed out when it has become stale while the refresh failed', async () => {
    const stage = setUp({ isSlow: true });
    const { connectionId } = await due(stage);
    const caller = new AbortController();
    const taken = stage.take(stage.caller(), connectionId, {}, () => caller.signal);
    await stage.isAsked();
    stage.clock.advance(5 * MINUTE);
    caller.abort();
    stage.fail();
    await expect(taken).rejects.toMatchObject({ code: 'upstream_unavailable' });
  });
});

describe('a token that is reported as rejected', () => {
  it('is refreshed once, however often what replaced it is reported at once', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect();
    const take = (rejectedGeneration?: number) =>
      stage.take(stage.caller(), connectionId, rejectedGeneration === undefined ? {} : { rejectedGeneration }, never);
    let { generation } = await take();
    for (let report = 0; report < 200; report += 1) ({ generation } = await take(generation));
    expect(stage.asked).toEqual(['refresh-token-1']);

    await stage.passes(5_000);
    expect(await take(generation)).toMatchObject({ accessToken: 'access-token-3' });
    expect(stage.asked).toEqual(['refresh-token-1', 'refresh-token-2']);
  });

  it('is lost where it cannot be renewed, but not in its first minute', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect({ refreshable: false });
    const { generation } = await stage.take(stage.caller(), connectionId, {}, never);
    const report = () => stage.take(stage.caller(), connectionId, { rejectedGeneration: generation }, never);
    await stage.passes(MINUTE - 1);
    expect(await report()).toMatchObject({ accessToken: 'access-token-1', generation });
    expect((await stage.stored(connectionId)).lost).toBeUndefined();
    await stage.passes(1);
    await expect(report()).rejects.toMatchObject({ code: 'reauthorization_required' });
    expect((await stage.stored(connectionId)).lost).toMatchObject({ reason: 'rejected' });
    expect(stage.asked).toEqual([]);
  });

  it('is another one than that of a connection made anew, whose generations count from one again', async () => {
    const stage = setUp();
    const { connectionId } = await stage.connect();
    const before = await stage.take(stage.caller(), connectionId, {}, never);
    await stage.stores.connections.remove({ connectionId });
    await stage.passes(MINUTE);
    expect(await stage.connect({ tokens: { accessToken: 'another' } })).toMatchObject({ connectionId, generation: 1 });
    const request = { rejectedGeneration: before.generation };
    const after = await stage.take(stage.caller(), connectionId, request, never);
    expect(after).toMatchObject({ accessToken: 'another' });
    expect(after.generation).toBeGreaterThan(before.generation);
    expect(stage.asked).toEqual([]);
  });
});

describe('S72: a provider that is not asked', () => {
  it('refuses a stale token at once, by its name and with the pause of its circuit', async () => {
    const stage = setUp({ isSlow: true, upstream: { pausedMs: 7_000 } });
    const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 1 });
    stage.clock.advance(60 * MINUTE);
    const taken = stage.take(stage.caller(), connectionId, {}, never);
    await stage.isAsked();
    stage.fail();
    const refusal = { code: 'provider_unavailable', provider: 'github', retryAfterMs: 7_000 };
    await expect(taken).rejects.toMatchObject(refusal);
    await expect(stage.take(stage.caller(), connectionId, {}, never)).rejects.toMatchObject(refusal);
    expect(stage.asked).toHaveLength(1);
  });

  it('does not hold back a token that is still good, however many requests wait', async () => {
    const stage = setUp({ upstream: { ask: async (_work, full) => full() } });
    const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(56 * MINUTE);
    expect(await stage.take(stage.caller(), connectionId, {}, never)).toMatchObject({ accessToken: 'access-token-1' });
    stage.clock.advance(4 * MINUTE);
    await expect(stage.take(stage.caller(), connectionId, {}, never)).rejects.toMatchObject({
      code: 'provider_unavailable',
      provider: 'github',
    });
    expect(stage.asked).toEqual([]);
  });
});

describe('waiting for somebody else', () => {
  /** Another replica has begun to renew the stale token, and died. */
  async function held(stage: ReturnType<typeof setUp>) {
    const connection = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
    stage.clock.advance(60 * MINUTE);
    const { leaseMs } = stage.tokenRefresh;
    await stage.stores.connections.beginRefresh({ current: connection, holder: 'another', leaseMs });
    return connection;
  }

  it('ends when the caller has gone or the replica stops', async () => {
    const stage = setUp();
    const { connectionId } = await held(stage);
    const caller = new AbortController();
    const taken = stage.take(stage.caller(), connectionId, {}, () => caller.signal);
    const refused = expect(taken).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await stage.isWaiting;
    caller.abort();
    await refused;
    expect(stage.asked).toEqual([]);
  });

  it('ends with the refresh of another replica, also for a caller that joins an attempt already under way', async () => {
    const stage = setUp();
    const connection = await held(stage);
    const { connectionId } = connection;
    const { connections } = stage.stores;
    const { read, beginRefresh } = connections;
    const take = () => stage.take(stage.caller(), connectionId, {}, never);

    // Redis has said that the lease is held, but this answer has not arrived yet.
    const [asked, heldAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(connections, 'beginRefresh').mockImplementationOnce(async p => {
      const begun = await beginRefresh.call(connections, p);
      asked.resolve();
      await heldAnswer.promise;
      return begun;
    });
    const first = take();
    await asked.promise;

    // A second caller reads the stale token set. The wake-up overtakes the answer to this read.
    const [hasRead, readAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(connections, 'read').mockImplementationOnce(async id => {
      const stale = await read.call(connections, id);
      hasRead.resolve();
      await readAnswer.promise;
      return stale;
    });
    const second = take();
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
    // The second caller joins the attempt of the first before the attempt has its answer.
    await vi.advanceTimersByTimeAsync(0);
    heldAnswer.resolve();

    // Time stands still: a caller that waits for the end of the lease is never served.
    expect(await Promise.all([first, second])).toMatchObject([
      { accessToken: 'of-the-other-replica' },
      { accessToken: 'of-the-other-replica' },
    ]);
    expect(stage.asked).toEqual([]);
  });

  it.each([10_000, 60_000])(
    'outlasts the lease of a holder that has died (request limit %i ms)',
    async requestLimitMs => {
      const stage = setUp({ requestLimitMs });
      const { connectionId } = await held(stage);
      const taken = stage.take(stage.caller(), connectionId, {}, never);
      const served = expect(taken).resolves.toMatchObject({ accessToken: 'access-token-2' });
      await stage.isWaiting;
      await stage.passes(stage.tokenRefresh.leaseMs);
      await served;
      expect(stage.asked).toEqual(['refresh-token-1']);
    },
  );
});

it('S42: releases no access token to an MCP server that does not own the connection', async () => {
  const stage = setUp();
  const { connectionId } = await stage.connect({ accessTokenExpiresAt: stage.clock.now() + 60 * MINUTE });
  const stranger = stage.take(stage.caller('calendar'), connectionId, {}, never);
  await expect(stranger).rejects.toMatchObject({ code: 'not_found' });
  expect(await stage.take(stage.caller(), connectionId, {}, never)).toMatchObject({ accessToken: 'access-token-1' });
});
