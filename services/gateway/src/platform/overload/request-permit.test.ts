import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ConcurrencyLimiter, Turns } from './admission.ts';

it('limits each holder to its share and all holders together to the limit', () => {
  const limiter = new ConcurrencyLimiter<string>(3);
  expect(limiter.acquire('a', 2)).toBeTypeOf('object');
  const second = limiter.acquire('a', 2);
  expect(limiter.acquire('a', 2)).toBe('share');
  expect(limiter.acquire('b', 2)).toBeTypeOf('object');
  expect(limiter.acquire('b', 2)).toBe('full');
  if (typeof second !== 'object') throw new Error('no permit');
  second[Symbol.dispose]();
  expect(limiter.all).toBe(2);
  expect(limiter.acquire('b', 2)).toBeTypeOf('object');
});

it('releases a permit only once', () => {
  const limiter = new ConcurrencyLimiter<string>();
  const permit = limiter.acquireAnyway('a');
  limiter.acquireAnyway('a');
  permit[Symbol.dispose]();
  permit[Symbol.dispose]();
  expect(limiter.all).toBe(1);
  expect(limiter.acquire('a', 1)).toBe('share');
});

it('S72: spreads the requests of one MCP server over turns, and delays no other', async () => {
  const turns = new Turns(() => 2);
  const begun: string[] = [];
  for (let n = 0; n < 40; n += 1) turns.take('busy', () => begun.push(`busy ${n}`));
  turns.take('other', () => begun.push('other'));
  expect(begun).toHaveLength(17);
  expect(begun.at(-1)).toBe('other');
  await nextTurn();
  expect(begun).toHaveLength(33);
  // A later request of the same MCP server does not overtake.
  turns.take('busy', () => begun.push('last'));
  await nextTurn();
  expect(begun).toEqual([...begun.filter(name => name !== 'last'), 'last']);
  expect(begun).toHaveLength(42);
  turns.take('busy', () => begun.push('again'));
  expect(begun.at(-1)).toBe('again');
});

it('delays nothing where only one MCP server is registered', () => {
  const turns = new Turns(() => 1);
  let begun = 0;
  for (let n = 0; n < 100; n += 1) turns.take('only', () => (begun += 1));
  expect(begun).toBe(100);
});

it('keeps the context of a delayed request', async () => {
  const turns = new Turns(() => 2);
  const context = new AsyncLocalStorage<number>();
  const seen: (number | undefined)[] = [];
  for (let n = 0; n < 20; n += 1) context.run(n, () => turns.take('busy', () => seen.push(context.getStore())));
  await nextTurn();
  expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => n));
});
