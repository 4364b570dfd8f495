import { expect, it } from 'vitest';
import { Shares } from './shares.ts';

it('gives each holder its share and all holders together the total', () => {
  const shares = new Shares<string>(3);
  expect(shares.take('a', 2)).toBeTypeOf('object');
  const second = shares.take('a', 2);
  expect(shares.take('a', 2)).toBe('share');
  expect(shares.take('b', 2)).toBeTypeOf('object');
  expect(shares.take('b', 2)).toBe('full');
  if (typeof second !== 'object') throw new Error('no place');
  second[Symbol.dispose]();
  expect(shares.all).toBe(2);
  expect(shares.take('b', 2)).toBeTypeOf('object');
});

it('takes a place back once only', () => {
  const shares = new Shares<string>();
  const place = shares.add('a');
  shares.add('a');
  place[Symbol.dispose]();
  place[Symbol.dispose]();
  expect(shares.all).toBe(1);
  expect(shares.take('a', 1)).toBe('share');
});
