import { expect, it } from 'vitest';
import { ConcurrencyLimiter } from './request-permit.ts';

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
