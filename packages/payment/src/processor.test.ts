import { expect, test } from 'vitest';
import { chargeKeyOf } from './processor.ts';

test('the key of a charge is equal for the same attempt only, and fits Stripe (255 characters)', () => {
  const key = chargeKeyOf('el_00a', 'b');
  expect(chargeKeyOf('el_00a', 'b')).toBe(key);
  expect(key).toMatch(/^postern-charge-[A-Za-z0-9_-]{43}$/);
  const others = [chargeKeyOf('el_00a', 'c'), chargeKeyOf('el_00b', 'b'), chargeKeyOf('el_00', 'ab')];
  expect(new Set([key, ...others]).size).toBe(4);
});

test('the key of a charge is stable between releases, so a payment in progress keeps its charge', () => {
  expect(chargeKeyOf('el_00a', 'b')).toMatchInlineSnapshot(
    `"postern-charge-YxoCAUU-_IC37D8A0JOcemIYmk6HlsbYg4rfO7dNSxk"`,
  );
});
