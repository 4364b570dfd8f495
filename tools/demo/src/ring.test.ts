import { expect, test } from 'vitest';
import { Ring } from './ring.ts';

test('keeps the newest items, and counts all', () => {
  const ring = new Ring<number>(3);
  ring.push(1, 2);
  expect([ring.items, ring.total]).toEqual([[1, 2], 2]);
  ring.push(3, 4, 5);
  expect([ring.items, ring.total]).toEqual([[3, 4, 5], 5]);
  ring.push(6);
  expect([ring.items, ring.total]).toEqual([[4, 5, 6], 6]);
});
