import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSharedReads, fewAtOnce } from './paced-reads.ts';

test('fewAtOnce returns the results in the order of the items, and works on at most so many at once', async () => {
  let underWay = 0;
  let most = 0;
  const items = Array.from({ length: 100 }, (_, at) => at);
  const results = await fewAtOnce(
    items,
    async item => {
      underWay += 1;
      most = Math.max(most, underWay);
      for (let left = item % 3; left >= 0; left -= 1) await turn();
      underWay -= 1;
      return -item;
    },
    16,
  );
  expect(results).toEqual(items.map(item => -item));
  expect(most).toBe(16);
});

test('fewAtOnce rejects if the work on an item fails', async () => {
  const work = async (item: number) => {
    if (item === 1) throw new RangeError('one');
  };
  await expect(fewAtOnce([0, 1, 2], work)).rejects.toThrow(RangeError);
  await expect(fewAtOnce([], work)).resolves.toEqual([]);
});

test('S158: reads once for all requests of a period, and again after it or after a failure', async () => {
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
