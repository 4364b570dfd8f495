import { EventEmitter } from 'node:events';
import { newElicitationId, shardOf, systemEntropy } from '@postern/elicitation';
import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { expect, test } from 'vitest';
import type { PeriodicOptions } from '../platform/periodic.ts';
import { watchActivity, whenIdle } from './activity.ts';
import { WorkInProgress } from './work-in-progress.ts';

function idleWatch() {
  const counts = { open: 0, revocations: 0 };
  const during = { question: () => {} };
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  const refreshes = new Map<string, unknown>();
  let now = 0;
  let ended = 0;
  let look: PeriodicOptions['run'] = async () => {};
  const lists = {
    async size(list: string, shard: string) {
      if (shard === '07') during.question();
      return shard === '07' ? counts[list as keyof typeof counts] : 0;
    },
  };
  const work = new WorkInProgress(() => now);
  const activity = watchActivity({ work, stores: { ...stores, lists }, refreshes });
  whenIdle({
    activity,
    idleMs: 1_000,
    now: () => now,
    onIdle() {
      ended += 1;
    },
    onError() {
      throw new Error('unexpected');
    },
    repeat({ run }) {
      look = run;
      const stop = async () => {
        look = async () => {};
      };
      return { stop, [Symbol.asyncDispose]: stop };
    },
  });
  return {
    activity,
    counts,
    refreshes,
    work,
    stores,
    during,
    async after(ms: number) {
      now += ms;
      await look(new AbortController().signal);
      return ended;
    },
  };
}

test('S252: ends once, after a time without requests', async () => {
  const { after, work } = idleWatch();
  expect(await after(999)).toBe(0);
  const response = new EventEmitter();
  expect(work.admit(response)).toBe(true);
  expect(await after(5_000)).toBe(0);
  response.emit('close');
  expect(await after(999)).toBe(0);
  expect(await after(1)).toBe(1);
  expect(await after(5_000)).toBe(1);
});

test('S252: never ends with an open ask, a due revocation, an owed refund, a token refresh or a command in progress', async () => {
  const { after, counts, refreshes, activity, stores } = idleWatch();
  counts.open = 2;
  expect([await after(2_000), await activity.openAsks()]).toEqual([0, 2]);
  counts.open = 0;
  counts.revocations = 1;
  expect(await after(2_000)).toBe(0);
  counts.revocations = 0;
  refreshes.set('cn_1', Promise.resolve());
  expect(await after(2_000)).toBe(0);
  refreshes.clear();
  const elicitationId = newElicitationId(shardOf(samples.somebody()), systemEntropy);
  // Due later: the refund is owed meanwhile.
  await stores.payments.checkLater(elicitationId, 'refunds', 3_600_000);
  expect(await after(2_000)).toBe(0);
  await stores.payments.dropCheck(elicitationId, 'refunds');
  {
    using _ = activity.begin();
    expect(await after(2_000)).toBe(0);
  }
  expect(await after(1_000)).toBe(1);
});

test('S252: once it ends, nothing begins any more', async () => {
  const { after, work } = idleWatch();
  expect(await after(1_000)).toBe(1);
  expect([work.begin(), work.admit(new EventEmitter())]).toEqual([undefined, false]);
});

test('S252: does not end if a request came and went while the stores were asked', async () => {
  const { activity, work, during } = idleWatch();
  during.question = () => {
    const response = new EventEmitter();
    work.admit(response);
    response.emit('close');
  };
  expect(await activity.endIfIdle()).toBe(false);
  expect(work.admit(new EventEmitter())).toBe(true);
});

test('S252: never ends with an unfinished job', async () => {
  const { after, stores } = idleWatch();
  const about = { verb: 'disconnect', target: {}, by: 'ada', door: 'command_line' } as const;
  await stores.jobs.start({ jobId: `jb_${'a'.repeat(22)}`, about });
  expect(await after(2_000)).toBe(0);
});
