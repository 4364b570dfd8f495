import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkStripeLimits, fromStripeAmount, stripeRangeOf, toStripeAmount } from './stripe-amounts.ts';
import { everyCurrency } from './testing/every-currency.ts';

describe('amounts at Stripe', () => {
  test.each([
    // Two decimals in both.
    ['EUR', 1050, 1050],
    ['USD', 1, 1],
    ['IDR', 123_456_789_012, 123_456_789_012],
    // Two decimals in charges, none in payouts.
    ['HUF', 1045, 1045],
    ['TWD', 80_045, 80_045],
    // None in both.
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
    // None in ISO 4217, two at Stripe, always 00.
    ['ISK', 5, 500],
    ['UGX', 5, 500],
    // Two in ISO 4217, none at Stripe.
    ['MGA', 500, 5],
    // Three in both, the last one 0.
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
    // Not among Stripe's currencies.
    ['IQD', 1000],
    ['LYD', 1000],
    ['CLF', 10_000],
    ['UYW', 10_000],
    ['UYI', 100],
    // Not a currency that Postern supports.
    ['XAU', 1],
    ['ZZZ', 100],
    ['eur', 100],
    // No longer exact as a double.
    ['ISK', Number.MAX_SAFE_INTEGER],
    ['EUR', 10.5],
  ])('%s %d has no exact amount at Stripe', (currency, minorUnits) => {
    expect(toStripeAmount({ currency, minorUnits })).toBeUndefined();
  });

  test.each([
    [550, 'isk'],
    [1, 'ugx'],
    [1, 'zzz'],
    [Number.MAX_SAFE_INTEGER, 'mga'],
  ])('%d %s has no amount in minor units', (amount, currency) => {
    expect(fromStripeAmount(amount, currency)).toBeUndefined();
  });

  test('converts back to the same amount in every currency', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...everyCurrency),
        fc.integer({ min: 1, max: 999_999_999_999 }),
        (currency, minorUnits) => {
          const amount = toStripeAmount({ currency, minorUnits });
          if (amount !== undefined) expect(fromStripeAmount(amount, currency)).toEqual({ currency, minorUnits });
        },
      ),
    );
  });
});

const cards = ['card'];
const asked = (currency: string, minorUnits: number, quantity?: number) => ({
  amount: { currency, minorUnits },
  ...(quantity === undefined ? {} : { items: [{ label: 'Tea', quantity, unitMinorUnits: minorUnits / quantity }] }),
});
const possible = { result: 'possible' };

describe('S70: the terms that Stripe takes', () => {
  test.each([
    ['EUR', 49, 'amount_too_small'],
    ['JPY', 49, 'amount_too_small'],
    ['GBP', 29, 'amount_too_small'],
    ['HUF', 17_400, 'amount_too_small'],
    ['MXN', 999, 'amount_too_small'],
    ['USD', 100_000_000, 'amount_too_large'],
    ['INR', 1_000_000_000, 'amount_too_large'],
    ['ISK', 1_000_000, 'amount_too_large'],
    ['MGA', 100_000_000_00, 'amount_too_large'],
    ['KWD', 12_345, 'amount_not_exact'],
    ['MGA', 550, 'amount_not_exact'],
  ])('refuses %s %i: %s', (currency, minorUnits, reason) => {
    const answer = checkStripeLimits(asked(currency, minorUnits), cards);
    expect(answer).toMatchObject({ result: 'impossible', reason, member: 'amount.minorUnits' });
  });

  test.each([
    ['EUR', 50],
    ['JPY', 50],
    ['GBP', 30],
    ['HUF', 17_500],
    ['HUF', 17_545],
    ['MXN', 1000],
    ['USD', 99_999_999],
    ['INR', 999_999_999],
    ['IDR', 999_999_999_999],
    ['ISK', 999_999],
    ['KWD', 12_340],
    ['MGA', 500],
    // Without a published minimum.
    ['MNT', 1],
  ])('accepts %s %i', (currency, minorUnits) => {
    expect(checkStripeLimits(asked(currency, minorUnits), cards)).toEqual(possible);
  });

  test('accepts more in yen and forint by card than by other payment methods', () => {
    for (const currency of ['JPY', 'HUF']) {
      expect(checkStripeLimits(asked(currency, 100_000_000), cards)).toEqual(possible);
      expect(checkStripeLimits(asked(currency, 100_000_000), ['card', 'sepa_debit'])).toMatchObject({
        reason: 'amount_too_large',
      });
    }
  });

  test('refuses a currency that is not on the list of Stripe', () => {
    for (const currency of ['CUP', 'IRR', 'IQD', 'CLF', 'SYP', 'KPW', 'XAU', 'eur']) {
      const answer = checkStripeLimits(asked(currency, 1000), cards);
      expect(answer).toMatchObject({ reason: 'currency_not_supported', member: 'amount.currency' });
      expect(stripeRangeOf(currency, cards)).toBeUndefined();
    }
  });

  test('refuses a quantity above 999,999 and names the item', () => {
    expect(checkStripeLimits(asked('EUR', 999_999, 999_999), cards)).toEqual(possible);
    const two = asked('EUR', 1_000_000, 1_000_000);
    const items = [{ label: 'Tea', quantity: 1, unitMinorUnits: 1 }, ...(two.items ?? [])];
    expect(checkStripeLimits({ ...two, items }, cards)).toMatchObject({
      reason: 'quantity_too_large',
      member: 'items.1.quantity',
    });
  });

  test('accepts both ends of the range of every supported currency', () => {
    const supported = everyCurrency.filter(currency => stripeRangeOf(currency, cards) !== undefined);
    expect(supported.length).toBeGreaterThan(130);
    for (const currency of supported) {
      const { min, max } = stripeRangeOf(currency, cards) ?? { min: 0, max: 0 };
      expect([currency, checkStripeLimits(asked(currency, min), cards)]).toEqual([currency, possible]);
      expect([currency, checkStripeLimits(asked(currency, max), cards)]).toEqual([currency, possible]);
      expect(checkStripeLimits(asked(currency, max + 1), cards)).toMatchObject({ result: 'impossible' });
    }
  });
});
