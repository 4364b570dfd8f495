import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { periodic } from './periodic.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('runs after each pause, and nothing after the stop', async () => {
  const run = vi.fn(async () => {});
  const loop = periodic({ every: 100, run });
  await vi.advanceTimersByTimeAsync(99);
  expect(run).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(201);
  expect(run).toHaveBeenCalledTimes(3);
  await loop.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('runs immediately on request, and asks for each pause', async () => {
  const run = vi.fn(async () => {});
  const pauses = [10, 1_000];
  await using _ = periodic({ every: () => pauses.shift() ?? 1, run, isImmediate: true });
  expect(run).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(run).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(run).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(run).toHaveBeenCalledTimes(3);
});

test('a failed run does not end the loop', async () => {
  const error = new Error('away');
  const run = vi.fn(async () => {}).mockRejectedValueOnce(error);
  const onError = vi.fn();
  await using _ = periodic({ every: 100, run, onError });
  await vi.advanceTimersByTimeAsync(200);
  expect(run).toHaveBeenCalledTimes(2);
  expect(onError.mock.calls).toEqual([[error]]);
});

test('a slow run delays the next one, and the stop waits for it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen: AbortSignal | undefined;
  const run = vi.fn((signal: AbortSignal) => {
    seen = signal;
    return promise;
  });
  const loop = periodic({ every: 100, run });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(run).toHaveBeenCalledTimes(1);
  expect(seen?.aborted).toBe(false);
  const hasStopped = vi.fn();
  const stopped = loop.stop().then(hasStopped);
  expect(seen?.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(hasStopped).not.toHaveBeenCalled();
  resolve();
  await stopped;
  expect([run.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test('a run can end the loop', async () => {
  const run = vi.fn(async () => void loop.stop());
  const loop = periodic({ every: 100, run });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(run).toHaveBeenCalledTimes(1);
});
