import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { currencies } from './currencies.ts';
import { fromStripeAmount, toStripeAmount } from './stripe-amounts.ts';

describe('amounts at Stripe', () => {
  test.each([
    // Two decimals here and there.
    ['EUR', 1050, 1050],
    ['USD', 1, 1],
    ['IDR', 123_456_789_012, 123_456_789_012],
    // Two decimals in charges; whole only when paid out.
    ['HUF', 1045, 1045],
    ['TWD', 80_045, 80_045],
    // None here and there.
    ['JPY', 500, 500],
    ['BIF', 7, 7],
    ['CLP', 7, 7],
    ['DJF', 7, 7],
    ['GNF', 7, 7],
    ['KMF', 7, 7],
    ['KRW', 7, 7],
    ['PYG', 7, 7],
    ['RWF', 7, 7],
    ['VND', 7, 7],
    ['VUV', 7, 7],
    ['XAF', 7, 7],
    ['XOF', 7, 7],
    ['XPF', 7, 7],
    // None here, two there, always 00.
    ['ISK', 5, 500],
    ['UGX', 5, 500],
    // Two here, none there.
    ['MGA', 500, 5],
    // Three here and there, the last one 0.
    ['BHD', 5120, 5120],
    ['JOD', 10, 10],
    ['KWD', 5130, 5130],
    ['OMR', 1000, 1000],
    ['TND', 1050, 1050],
  ])('%s %i is %i', (currency, minorUnits, amount) => {
    expect(toStripeAmount({ currency, minorUnits })).toBe(amount);
    expect(fromStripeAmount(amount, currency.toLowerCase())).toEqual({ currency, minorUnits });
  });

  test.each([
    ['KWD', 5124],
    ['BHD', 1],
    ['MGA', 550],
    // Not among Stripe's currencies, as their decimals show.
    ['IQD', 1000],
    ['LYD', 1000],
    ['CLF', 10_000],
    ['UYW', 10_000],
    ['UYI', 100],
    // No currencies.
    ['XAU', 1],
    ['ZZZ', 100],
    ['eur', 100],
    // No longer exact as a double.
    ['ISK', Number.MAX_SAFE_INTEGER],
    ['EUR', 10.5],
  ])('%s %d cannot be taken', (currency, minorUnits) => {
    expect(toStripeAmount({ currency, minorUnits })).toBeUndefined();
  });

  test.each([
    [550, 'isk'],
    [1, 'ugx'],
    [1, 'zzz'],
    [Number.MAX_SAFE_INTEGER, 'mga'],
  ])('%d %s cannot be read', (amount, currency) => {
    expect(fromStripeAmount(amount, currency)).toBeUndefined();
  });

  test('what is sent comes back the same, in every currency', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...currencies),
        fc.integer({ min: 1, max: 999_999_999_999 }),
        (currency, minorUnits) => {
          const amount = toStripeAmount({ currency, minorUnits });
          if (amount !== undefined) expect(fromStripeAmount(amount, currency)).toEqual({ currency, minorUnits });
        },
      ),
    );
  });
});
