import { describe, expect, it } from 'vitest';
import { type DeliveryOutcome, deliveryOutcome, parseRetryAfter } from './delivery-outcome.ts';
import { FAILING_LIMIT_MS, isToBeDisabled } from './endpoint-health.ts';
import { MAX_RETRY_AFTER_MS } from './retry-schedule.ts';

const NOW = Date.UTC(2026, 0, 1);
const failed = (reason: string, rest = {}) => ({ result: 'failed', reason, ...rest }) as DeliveryOutcome;

describe('an answer', () => {
  it.each([200, 201, 202, 204, 299])('%d is success', status => {
    expect(deliveryOutcome({ status }, NOW)).toEqual({ result: 'delivered' });
  });

  it('410 ends the endpoint', () => {
    expect(deliveryOutcome({ status: 410, retryAfter: '5' }, NOW)).toEqual({ result: 'gone', reason: 'status_410' });
  });

  it.each([100, 199, 300, 301, 304, 307, 400, 401, 404, 408, 422, 500, 502, 504, 599])('%d is a failure', status => {
    expect(deliveryOutcome({ status, retryAfter: '5' }, NOW)).toEqual(failed(`status_${status}`));
  });

  it.each([429, 503])('%d may ask to wait', status => {
    expect(deliveryOutcome({ status, retryAfter: '7' }, NOW)).toEqual(
      failed(`status_${status}`, { retryAfterMs: 7000 }),
    );
    expect(deliveryOutcome({ status }, NOW)).toEqual(failed(`status_${status}`));
  });

  it.each(['blocked', 'redirect', 'timeout', 'unreachable'] as const)('none (%s) is a failure', failure => {
    expect(deliveryOutcome({ failure }, NOW)).toEqual(failed(failure));
  });
});

describe('Retry-After', () => {
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
  ])('%j', (value, expected) => {
    expect(parseRetryAfter(value, NOW)).toBe(expected);
  });
});

it('an endpoint is given up after 72 hours of nothing but failures', () => {
  expect(isToBeDisabled(undefined, NOW)).toBe(false);
  expect(isToBeDisabled(NOW - FAILING_LIMIT_MS + 1, NOW)).toBe(false);
  expect(isToBeDisabled(NOW - FAILING_LIMIT_MS, NOW)).toBe(true);
});
