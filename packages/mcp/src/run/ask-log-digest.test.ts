import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, digest } from './ask-log.ts';

test('the digest ignores the order of members, but not of items', () => {
  expect(digest({ a: 1, b: { c: [1, 2], d: null } })).toBe(digest({ b: { d: null, c: [1, 2] }, a: 1 }));
  expect(digest([1, 2])).not.toBe(digest([2, 1]));
});

test('matches JSON for values that JSON can express', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      fc.pre(!JSON.stringify(value).includes('"$'));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('treats an undefined member as absent', () => {
  expect(digest({ a: 1, b: undefined })).toBe(digest({ a: 1 }));
});

test('distinguishes values that a schema may produce', () => {
  const values = [
    ...[undefined, 1, 1n, '1', new Date(1), new Map([[1, 1]]), new Set([1]), [1], Number.NaN, { a: 1 }, true],
    ...[new Uint8Array([1]), new Uint8Array([2]), new Int8Array([1]), new URL('https://a.example'), { $date: '1' }],
  ];
  expect(new Set(values.map(digest)).size).toBe(values.length);
  expect(digest(Object.assign(Object.create(null), { a: 1 }))).toBe(digest({ a: 1 }));
});

test('S228: refuses instances of classes whose content it does not see, which would be equal', () => {
  class Amount {
    readonly #cents: number;
    constructor(cents: number) {
      this.#cents = cents;
    }
    get cents() {
      return this.#cents;
    }
  }
  for (const value of [new Amount(1), new URLSearchParams('a=1'), new Blob(['a']), /a/, new Error('a'), new WeakMap()])
    expect(() => digest({ value })).toThrow(expect.objectContaining({ code: 'arguments_not_serializable' }));
});

test('accepts a repeated value, but not a cycle', () => {
  const shared = { a: 1 };
  expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  expect(() => digest(cycle)).toThrow(expect.objectContaining({ code: 'arguments_not_serializable' }));
  expect(() => digest(() => 1)).toThrow(expect.objectContaining({ code: 'arguments_not_serializable' }));
});
