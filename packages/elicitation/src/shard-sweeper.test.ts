import { type ElicitationId, SHARDS, type Shard } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type SweeperOptions, startSweeper } from './shard-sweeper.ts';

const idOf = () => samples.ask(samples.somebody()).elicitation.elicitationId;

describe('sweeper', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A store in which the first shard of every round has due items. */
  function setUp(due: readonly ElicitationId[] = [], change: Partial<SweeperOptions<ElicitationId>> = {}) {
    const asked: Shard[] = [];
    const handled: ElicitationId[] = [];
    const errors: unknown[] = [];
    const sweeper = startSweeper({
      due: async shard => {
        asked.push(shard);
        return shard === '00' ? due : [];
      },
      handle: async id => void handled.push(id),
      onError: error => errors.push(error),
      shuffle: shards => shards,
      ...change,
    });
    return { sweeper, asked, handled, errors };
  }

  test('sweeps every shard once per round, a few shards per tick', async () => {
    const { sweeper, asked } = setUp();
    expect(asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toEqual(SHARDS.slice(0, 32));
    await vi.advanceTimersByTimeAsync(7_000);
    expect(asked).toEqual(SHARDS);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(asked).toEqual([...SHARDS, ...SHARDS]);
    await sweeper.stop();
  });

  test('reports the duration of each round once', async () => {
    const rounds: number[] = [];
    const { sweeper } = setUp([], { onRound: tookMs => rounds.push(tookMs) });
    await vi.advanceTimersByTimeAsync(7_000);
    expect(rounds).toEqual([]);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(rounds).toEqual([8_000, 8_000]);
    await sweeper.stop();
  });

  test('sweeps the shards in a different order every round', async () => {
    const asked: Shard[] = [];
    const sweeper = startSweeper({
      due: async shard => {
        asked.push(shard);
        return [];
      },
      handle: async () => {},
      onError: () => {},
    });
    await vi.advanceTimersByTimeAsync(16_000);
    await sweeper.stop();
    const [first, second] = [asked.slice(0, 256), asked.slice(256)];
    expect([...first].sort()).toEqual(SHARDS);
    expect([...second].sort()).toEqual(SHARDS);
    expect(first).not.toEqual(second);
  });

  test('handles due items, and continues after reporting a failure', async () => {
    const [broken, fine] = [idOf(), idOf()];
    const failure = new Error('no');
    const done: ElicitationId[] = [];
    const { sweeper, errors } = setUp([broken, fine], {
      handle: async id => {
        if (id === broken) throw failure;
        done.push(id);
      },
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(done).toEqual([fine]);
    expect(errors).toEqual([failure]);
    await sweeper.stop();
  });

  test('items that always fail do not delay later items', async () => {
    const failing = Array.from({ length: 5 }, idOf);
    const later = Array.from({ length: 3 }, idOf);
    const done = new Set<ElicitationId>();
    const { sweeper, errors } = setUp([], {
      batch: 2,
      due: async (shard, limit) =>
        shard === '00' ? [...failing, ...later].filter(id => !done.has(id)).slice(0, limit) : [],
      handle: async id => {
        if (failing.includes(id)) throw new Error('no');
        done.add(id);
      },
    });
    await vi.advanceTimersByTimeAsync(5 * 8_000);
    expect([...done]).toEqual(later);
    // Each of them is retried in every round.
    errors.length = 0;
    await vi.advanceTimersByTimeAsync(8_000);
    expect(errors).toHaveLength(failing.length);
    await sweeper.stop();
  });

  test('reports an unavailable store once per tick, and tries again', async () => {
    const failure = new Error('no store');
    const { sweeper, errors } = setUp([], {
      due: () => Promise.reject(failure),
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(errors).toHaveLength(2);
    await sweeper.stop();
  });

  test('ticks never overlap, and stopping waits for the current one and starts no other', async () => {
    const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
    const [first, second] = [idOf(), idOf()];
    const started: ElicitationId[] = [];
    const { sweeper, asked } = setUp([first, second], {
      handle: id => {
        started.push(id);
        return slow;
      },
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(1);
    let isStopped = false;
    const stopping = sweeper.stop().then(() => {
      isStopped = true;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isStopped).toBe(false);
    finish();
    await stopping;
    expect(started).toEqual([first]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
