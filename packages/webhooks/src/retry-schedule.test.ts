import { createFakeClock } from '@postern/testkit';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DELIVERY_ATTEMPTS, MAX_RETRY_AFTER_MS, retryDelayMs } from './retry-schedule.ts';

const HOUR = 3_600_000;

function attemptsOf(random: number): readonly number[] {
  const clock = createFakeClock(0);
  const times: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    times.push(clock.now());
    const pause = retryDelayMs(attempt, { random });
    if (pause === undefined) return times;
    clock.advance(pause);
  }
}

it.each([0, 0.5, 1])('tries eleven times over 72 hours and little more (chance %d)', random => {
  const times = attemptsOf(random);
  expect(times).toHaveLength(DELIVERY_ATTEMPTS);
  expect(times.at(-1)).toBeGreaterThanOrEqual(72 * HOUR);
  expect(times.at(-1)).toBeLessThan(84 * HOUR);
});

it('begins fast and waits longer each time', () => {
  const times = attemptsOf(0);
  expect(times[1]).toBe(5_000);
  const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
});

it('spreads by chance, and never waits less than planned or than asked for', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: DELIVERY_ATTEMPTS - 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.option(fc.integer({ min: 0, max: 10 * MAX_RETRY_AFTER_MS }), { nil: undefined }),
      (attempt, random, retryAfterMs) => {
        const planned = retryDelayMs(attempt, { random: 0 }) ?? Number.NaN;
        const delay = retryDelayMs(attempt, { random, retryAfterMs }) ?? Number.NaN;
        expect(delay).toBeGreaterThanOrEqual(Math.max(planned, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)));
        expect(delay).toBeLessThanOrEqual(Math.ceil(1.15 * MAX_RETRY_AFTER_MS));
      },
    ),
  );
  expect(retryDelayMs(3, { random: 1 })).toBeGreaterThan(retryDelayMs(3, { random: 0 }) ?? Number.NaN);
});

it('ends after the last attempt whatever the receiver asks for', () => {
  expect(retryDelayMs(DELIVERY_ATTEMPTS, { random: 0, retryAfterMs: 1000 })).toBeUndefined();
});
