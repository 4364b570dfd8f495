import { expect, test } from 'vitest';
import { RecentAsks } from './recent-asks.ts';

const expiresAt = new Date(1_000_000).toISOString();

test('forgets the oldest beyond its limit', () => {
  const asks = new RecentAsks(2, () => 0);
  for (const key of ['a', 'b', 'c']) asks.remember(key, `el-${key}`, expiresAt);
  expect(['a', 'b', 'c'].map(key => asks.recall(key))).toEqual([undefined, 'el-b', 'el-c']);
});

test('forgets some time after the expiry', () => {
  let now = 0;
  const asks = new RecentAsks(2, () => now);
  asks.remember('a', 'el-a', expiresAt);
  now = 1_000_000 + 10 * 60_000 - 1;
  expect(asks.recall('a')).toBe('el-a');
  now += 1;
  expect(asks.recall('a')).toBeUndefined();
});

test('forgets only what was read', () => {
  const asks = new RecentAsks(2, () => 0);
  asks.remember('a', 'el-2', expiresAt);
  asks.forget('a', 'el-1');
  expect(asks.recall('a')).toBe('el-2');
  asks.forget('a', 'el-2');
  expect(asks.recall('a')).toBeUndefined();
});
