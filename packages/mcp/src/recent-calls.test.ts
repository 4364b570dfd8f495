import { expect, test } from 'vitest';
import { RecentCalls } from './recent-calls.ts';
import { newStep } from './steps.ts';

const steps = (key: string) => [newStep({ key, askedAt: 0, expiresAt: 1_000_000 })];

test('forgets the oldest beyond its limit', () => {
  const calls = new RecentCalls(2, () => 0);
  for (const key of ['a', 'b', 'c']) calls.remember(key, steps(key));
  expect(['a', 'b', 'c'].map(key => calls.take(key)?.[0]?.key)).toEqual([undefined, 'b', 'c']);
});

test('forgets some time after the expiry', () => {
  let now = 1_000_000 + 10 * 60_000 - 1;
  const calls = new RecentCalls(2, () => now);
  calls.remember('a', steps('a'));
  expect(calls.take('a')).toHaveLength(1);
  calls.remember('a', steps('a'));
  now += 1;
  expect(calls.take('a')).toBeUndefined();
});

test('what was remembered is taken once', () => {
  const calls = new RecentCalls(2, () => 0);
  calls.remember('a', steps('a'));
  expect([calls.take('a'), calls.take('a')].map(taken => taken !== undefined)).toEqual([true, false]);
});

test('what is typed into forms is bounded over all calls', () => {
  const calls = new RecentCalls(1000, () => 0);
  const long = steps('form').map(step => ({ ...step, content: { text: 'x'.repeat(1_000_000) } }));
  for (let count = 0; count < 20; count += 1) calls.remember(`call-${count}`, long);
  calls.remember('call-19', long);
  const left = Array.from({ length: 20 }, (_, count) => calls.take(`call-${count}`)).filter(
    taken => taken !== undefined,
  );
  expect(left).toHaveLength(16);
  for (let count = 0; count < 16; count += 1) calls.remember(`call-${count}`, long);
  expect(calls.take('call-0')).toBeDefined();
});
