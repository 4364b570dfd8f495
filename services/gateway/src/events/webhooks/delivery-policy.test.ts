import { createFakeClock } from '@postern/testkit';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DELIVERY_ATTEMPTS,
  type DeliveryOutcome,
  deliveryOutcome,
  isToBeDisabled,
  MAX_RETRY_AFTER_MS,
  retryDelayMs,
} from './delivery-policy.ts';

const NOW = Date.UTC(2026, 0, 1);
const FAILING_LIMIT_MS = 72 * 3_600_000;
const failed = (reason: string, rest = {}) => ({ result: 'failed', reason, ...rest }) as DeliveryOutcome;

describe('deliveryOutcome', () => {
  it.each([200, 201, 202, 204, 299])('a response with status %d means delivered', status => {
    expect(deliveryOutcome({ status }, NOW)).toEqual({ result: 'delivered' });
  });

  it('a response with status 410 disables the endpoint', () => {
    expect(deliveryOutcome({ status: 410, retryAfter: '5' }, NOW)).toEqual({ result: 'gone', reason: 'status_410' });
  });

  it.each([100, 199, 300, 301, 304, 307, 400, 401, 404, 408, 422, 500, 502, 504, 599])(
    'a response with status %d is a failure',
    status => {
      expect(deliveryOutcome({ status, retryAfter: '5' }, NOW)).toEqual(failed(`status_${status}`));
    },
  );

  it.each([429, 503])('a response with status %d can lengthen the delay by Retry-After', status => {
    expect(deliveryOutcome({ status, retryAfter: '7' }, NOW)).toEqual(
      failed(`status_${status}`, { retryAfterMs: 7000 }),
    );
    expect(deliveryOutcome({ status }, NOW)).toEqual(failed(`status_${status}`));
  });

  it.each(['blocked', 'redirect', 'timeout', 'unreachable'] as const)(
    'an attempt without a response (%s) is a failure',
    failure => {
      expect(deliveryOutcome({ failure }, NOW)).toEqual(failed(failure));
    },
  );
});

describe('the parser of Retry-After', () => {
  it.each<[string | undefined, number | undefined]>([
    ['0', 0],
    [' 120 ', 120_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['9999999999', MAX_RETRY_AFTER_MS],
    [undefined, undefined],
    ['', undefined],
    ['-1', undefined],
    ['1e3', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['2026', 2_026_000],
    ['2026-01-02', undefined],
    ['9'.repeat(400), undefined],
    ['Xxx, 99 Yyy 2026 99:99:99 GMT', undefined],
  ])('reads %j as %j ms', (retryAfter, retryAfterMs) => {
    expect(deliveryOutcome({ status: 503, retryAfter }, NOW)).toEqual(
      failed('status_503', retryAfterMs === undefined ? {} : { retryAfterMs }),
    );
  });
});

it('an endpoint is disabled only after 72 hours of failures', () => {
  expect(isToBeDisabled(undefined, NOW)).toBe(false);
  expect(isToBeDisabled(NOW - FAILING_LIMIT_MS + 1, NOW)).toBe(false);
  expect(isToBeDisabled(NOW - FAILING_LIMIT_MS, NOW)).toBe(true);
});

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

it.each([0, 0.5, 1])('the schedule has eleven attempts over a little more than 72 hours (random %d)', random => {
  const times = attemptsOf(random);
  expect(times).toHaveLength(DELIVERY_ATTEMPTS);
  expect(times.at(-1)).toBeGreaterThanOrEqual(72 * HOUR);
  expect(times.at(-1)).toBeLessThan(84 * HOUR);
});

it('the schedule starts with short delays that grow with each attempt', () => {
  const times = attemptsOf(0);
  expect(times[1]).toBe(5_000);
  const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
});

it('the retry delay has jitter and is never shorter than the schedule or Retry-After', () => {
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

it('the schedule ends after the last attempt, even with Retry-After', () => {
  expect(retryDelayMs(DELIVERY_ATTEMPTS, { random: 0, retryAfterMs: 1000 })).toBeUndefined();
});
