import { samples } from '@postern/testkit/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Waiters } from './waiters.ts';

const idOf = () => samples.ask(samples.somebody()).elicitation.elicitationId;
const FOREVER = 10 * 60_000;

/** Whether a promise is settled after all pending microtasks and timers have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return settled;
}

describe('waiters', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a wake-up reaches only its waiters', async () => {
    const waiters = new Waiters();
    const [id, other] = [idOf(), idOf()];
    using one = waiters.watch(id);
    using two = waiters.watch(id);
    using bystander = waiters.watch(other);
    const waiting = [one.next(FOREVER), two.next(FOREVER), bystander.next(FOREVER)];
    waiters.wake(id);
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, true, false]);
    waiters.wakeAll();
    expect(await Promise.all(waiting.map(isSettled))).toEqual([true, true, true]);
  });

  test('a wake-up before a wait ends only that wait', async () => {
    const waiters = new Waiters();
    const id = idOf();
    using watch = waiters.watch(id);
    waiters.wake(id);
    waiters.wake(id);
    expect(await isSettled(watch.next(FOREVER))).toBe(true);
    expect(await isSettled(watch.next(FOREVER))).toBe(false);
  });

  test('a wait ends at its timeout, and not before', async () => {
    using watch = new Waiters().watch(idOf());
    const waiting = watch.next(1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(await isSettled(waiting)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await isSettled(waiting)).toBe(true);
  });

  test('no timer and no listener remains after a wait, however it ends', async () => {
    const waiters = new Waiters();
    const id = idOf();
    const abort = new AbortController();
    const added = vi.spyOn(abort.signal, 'addEventListener');
    const removed = vi.spyOn(abort.signal, 'removeEventListener');
    const watch = waiters.watch(id);
    for (const end of [() => waiters.wake(id), () => vi.advanceTimersByTime(FOREVER), () => watch[Symbol.dispose]()]) {
      const waiting = watch.next(FOREVER, abort.signal);
      end();
      await waiting;
      expect(vi.getTimerCount()).toBe(0);
    }
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
    expect(waiters.size).toBe(0);
  });

  test('a watch rejects a second concurrent wait', async () => {
    using watch = new Waiters().watch(idOf());
    const waiting = watch.next(1);
    expect(() => watch.next(1)).toThrow(TypeError);
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
  });
});
