import { expect, test } from 'vitest';
import { newCall, newRecord, RecentCalls } from './ask-log.ts';

const of = (call: string, user = 'alice') => ({ user, call });
const steps = (key: string) => ({
  ...newCall(0),
  asks: [newRecord({ key, place: 0, kind: 'form', terms: {}, askedAt: 0, expiresAt: 1_000_000 })],
});

test('forgets the oldest record beyond its limit', () => {
  const calls = new RecentCalls(2, () => 0);
  for (const key of ['a', 'b', 'c']) calls.remember(of(key), steps(key));
  expect(['a', 'b', 'c'].map(key => calls.take(of(key))?.asks[0]?.key)).toEqual([undefined, 'b', 'c']);
});

test('forgets a record some time after its expiry', () => {
  let now = 1_000_000 + 10 * 60_000 - 1;
  const calls = new RecentCalls(2, () => now);
  calls.remember(of('a'), steps('a'));
  expect(calls.take(of('a'))?.asks).toHaveLength(1);
  calls.remember(of('a'), steps('a'));
  now += 1;
  expect(calls.take(of('a'))).toBeUndefined();
});

test('remembered records are returned once', () => {
  const calls = new RecentCalls(2, () => 0);
  calls.remember(of('a'), steps('a'));
  expect([calls.take(of('a')), calls.take(of('a'))].map(taken => taken !== undefined)).toEqual([true, false]);
});

test('equal calls each keep a place, and the oldest continues first', () => {
  let now = 0;
  const calls = new RecentCalls(3, () => now);
  for (const key of ['first', 'second']) calls.remember(of('a'), steps(key));
  expect(calls.take(of('a'))?.asks[0]?.key).toBe('first');
  calls.remember(of('a'), steps('third'));
  calls.remember(of('b'), steps('b'));
  calls.remember(of('c'), steps('c'));
  // The limit took one of the three from the oldest call.
  expect(['a', 'a', 'b', 'c'].map(call => calls.take(of(call))?.asks[0]?.key)).toEqual(['third', undefined, 'b', 'c']);
  calls.remember(of('a'), steps('first'));
  calls.remember(of('a'), { ...steps('later'), asks: [newRecord({ ...payment, expiresAt: 2_000_000 })] });
  now = 2_000_000 + 10 * 60_000;
  expect(calls.take(of('a'))?.asks[0]?.kind).toBe('payment');
});

const payment = { key: 'pay', place: 0, kind: 'payment', terms: {}, askedAt: 0, expiresAt: 1_000_000 };

test('keeps a payment for a day after its expiry, because it may be charged so late', () => {
  let now = 1_000_000 + 24 * 3_600_000 + 10 * 60_000 - 1;
  const calls = new RecentCalls(2, () => now);
  calls.remember(of('a'), { ...steps('form'), asks: [...steps('form').asks, newRecord(payment)] });
  expect(calls.take(of('a'))?.asks).toHaveLength(2);
  calls.remember(of('a'), { ...steps('form'), asks: [newRecord(payment)] });
  now += 1;
  expect(calls.take(of('a'))).toBeUndefined();
});

test('bounds the memory for form contents over all calls', () => {
  const calls = new RecentCalls(1000, () => 0);
  const form = steps('form');
  const long = { ...form, asks: form.asks.map(step => ({ ...step, content: { text: 'x'.repeat(1_000_000) } })) };
  for (let count = 0; count < 20; count += 1) calls.remember(of(`call-${count}`), long);
  const left = Array.from({ length: 20 }, (_, count) => calls.take(of(`call-${count}`))).filter(
    taken => taken !== undefined,
  );
  expect(left).toHaveLength(16);
  for (let count = 0; count < 16; count += 1) calls.remember(of(`call-${count}`), long);
  expect(calls.take(of('call-0'))).toBeDefined();
});

test('the user who fills the memory loses entries before the others', () => {
  const calls = new RecentCalls(10, () => 0);
  calls.remember(of('paid'), steps('pay'));
  calls.remember(of('paid', 'bob'), steps('pay'));
  for (let count = 0; count < 100; count += 1) calls.remember(of(`flood-${count}`, 'mallory'), steps('x'));
  expect(calls.take(of('flood-99', 'mallory'))).toBeDefined();
  expect(calls.take(of('flood-91', 'mallory'))).toBeUndefined();
  expect(calls.take(of('paid'))?.asks[0]?.key).toBe('pay');
  expect(calls.take(of('paid', 'bob'))).toBeDefined();
});

test('records that a call carries itself are removed from memory', () => {
  const calls = new RecentCalls(10, () => 0);
  const carried = steps('pay');
  calls.remember(of('a'), carried);
  calls.discard(of('a'), steps('pay').asks);
  calls.discard(of('a', 'bob'), carried.asks);
  calls.discard(of('a'), carried.asks);
  expect(calls.take(of('a'))).toBeUndefined();
  calls.remember(of('a'), carried);
  calls.discard(of('a'), steps('pay').asks);
  expect(calls.take(of('a'))).toEqual(carried);
});
