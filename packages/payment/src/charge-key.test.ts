import { expect, test } from 'vitest';
import { chargeKeyOf } from './charge-key.ts';

test('is the same for the same attempt, another for any other, and fits Stripe (255 characters)', () => {
  const key = chargeKeyOf('el_00a', 'b');
  expect(chargeKeyOf('el_00a', 'b')).toBe(key);
  expect(key).toMatch(/^postern-charge-[A-Za-z0-9_-]{43}$/);
  const others = [chargeKeyOf('el_00a', 'c'), chargeKeyOf('el_00b', 'b'), chargeKeyOf('el_00', 'ab')];
  expect(new Set([key, ...others]).size).toBe(4);
});

test('does not change between releases: a payment under way finds its charge again', () => {
  expect(chargeKeyOf('el_00a', 'b')).toMatchInlineSnapshot(
    `"postern-charge-YxoCAUU-_IC37D8A0JOcemIYmk6HlsbYg4rfO7dNSxk"`,
  );
});
