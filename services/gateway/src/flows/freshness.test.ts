import { expect, test } from 'vitest';
import { isFresh } from './freshness.ts';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

test.each([
  ['just now', NOW, true],
  ['at the last moment', NOW - 5 * MINUTE, true],
  ['a moment too long ago', NOW - 5 * MINUTE - 1, false],
  ['unknown', undefined, false],
  ['by a clock that is a little ahead', NOW + MINUTE, true],
  ['in the future', NOW + MINUTE + 1, false],
  ['in milliseconds that were given as seconds', NOW * 1000, false],
])('signed in %s', (_, authTime, is) => {
  expect(isFresh(authTime, 5 * MINUTE, NOW)).toBe(is);
});
