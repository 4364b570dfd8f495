import { expect, it } from 'vitest';
import { createSharedReads } from './shared-reads.ts';

it('S158: reads once for all requests of a period, and again after it or after a failure', async () => {
  let now = 0;
  let reads = 0;
  const shared = createSharedReads(100, () => now);
  const read = async () => {
    reads += 1;
    return reads;
  };
  expect(await Promise.all([shared('a', read), shared('a', read), shared('b', async () => 'other')])).toEqual([
    1,
    1,
    'other',
  ]);
  now = 99;
  expect(await shared('a', read)).toBe(1);
  now = 100;
  expect(await shared('a', read)).toBe(2);
  const failing = async () => {
    throw new Error('no');
  };
  await expect(shared('c', failing)).rejects.toThrow('no');
  expect(await shared('c', read)).toBe(3);
});
