import { expect, it } from 'vitest';
import { watchLoopDelay } from './loop-delay.ts';

/** A timer that runs when the test says so, and a clock that goes on only with it. */
function createLoop() {
  let now = 1_000;
  let pending: { readonly run: () => void; readonly ms: number } | undefined;
  const delay = watchLoopDelay({
    now: () => now,
    setTimer: (run, ms) => {
      pending = { run, ms };
      return {
        [Symbol.dispose]() {
          pending = undefined;
        },
      };
    },
  });
  const late = (...times: number[]) => {
    for (const ms of times) {
      now += (pending?.ms ?? 0) + ms;
      pending?.run();
    }
    return delay.ms;
  };
  return { delay, late, isWatching: () => pending !== undefined };
}

it('is nothing while everything runs when it is due', () => {
  const { delay, late } = createLoop();
  expect(delay.ms).toBe(0);
  expect(late(0, 0, 0, 0)).toBe(0);
});

it('does not count one long pause, or two', () => {
  const { late } = createLoop();
  expect(late(0, 900)).toBe(0);
  expect(late(2, 3, 4)).toBe(2);
  expect(late(800, 900)).toBe(4);
});

it('is what all of the last three samples show', () => {
  const { late } = createLoop();
  expect(late(300, 200, 400)).toBe(200);
  expect(late(500)).toBe(200);
  expect(late(600)).toBe(400);
});

it('is over with the first sample that is in time', () => {
  const { late } = createLoop();
  expect(late(700, 700, 700)).toBe(700);
  expect(late(1)).toBe(1);
});

it('takes a timer that runs early as one in time', () => {
  const { late } = createLoop();
  expect(late(-1, -1, -1)).toBe(0);
});

it('stops when it is disposed of', () => {
  const { delay, isWatching } = createLoop();
  expect(isWatching()).toBe(true);
  delay[Symbol.dispose]();
  expect(isWatching()).toBe(false);
});
