import { expect, test } from 'vitest';
import { leftOut } from './story.ts';

test('leftOut() is undefined if the gateway offers everything', () => {
  expect(leftOut({ offers: () => true })).toBeUndefined();
});

test('leftOut() names the chapters that need a sign-in, their steps and how to get Redis', () => {
  const text = leftOut({ offers: capability => capability !== 'identity_login' }) ?? '';
  expect(text.match(/^ {2}.* \(\d+\)$/gm)).toEqual([
    '  Bob opens Alice’s link (5)',
    '  Alice manages her connections (4)',
    '  Alice deletes her API key (3)',
  ]);
  expect(text).toMatch(/3 chapters with\s12 steps/);
  expect(text).toContain('apt-get install redis-server');
  expect(text.split('\n').filter(line => line.length > 80)).toEqual([]);
});
