import { expect, test } from 'vitest';
import { afterEnd } from './stream-pause.ts';

test.each([
  ['no pause', 0, 250],
  ['half a second', 500, 500],
  ['days', 999_999_999, 15 * 60_000],
])('a stream that ends and asks for %s is opened again within bounds', (_, retryMs, pauseMs) => {
  expect(afterEnd(retryMs)).toEqual({ pauseMs, isOver: false });
});
