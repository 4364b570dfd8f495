import { describe, expect, test } from 'vitest';
import { currencies } from './currencies.ts';
import { answerOfStripe, stripeRangeOf } from './stripe-limits.ts';

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
    const answer = answerOfStripe(asked(currency, minorUnits), cards);
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
    // No minimum is published.
    ['MNT', 1],
  ])('accepts %s %i', (currency, minorUnits) => {
    expect(answerOfStripe(asked(currency, minorUnits), cards)).toEqual(possible);
  });

  test('accepts more in yen and forint by card than by other payment methods', () => {
    for (const currency of ['JPY', 'HUF']) {
      expect(answerOfStripe(asked(currency, 100_000_000), cards)).toEqual(possible);
      expect(answerOfStripe(asked(currency, 100_000_000), ['card', 'sepa_debit'])).toMatchObject({
        reason: 'amount_too_large',
      });
    }
  });

  test('refuses a currency that is not on the list of Stripe', () => {
    for (const currency of ['CUP', 'IRR', 'IQD', 'CLF', 'SYP', 'KPW', 'XAU', 'eur']) {
      const answer = answerOfStripe(asked(currency, 1000), cards);
      expect(answer).toMatchObject({ reason: 'currency_not_supported', member: 'amount.currency' });
      expect(stripeRangeOf(currency, cards)).toBeUndefined();
    }
  });

  test('refuses a quantity above 999,999 and names the item', () => {
    expect(answerOfStripe(asked('EUR', 999_999, 999_999), cards)).toEqual(possible);
    const two = asked('EUR', 1_000_000, 1_000_000);
    const items = [{ label: 'Tea', quantity: 1, unitMinorUnits: 1 }, ...(two.items ?? [])];
    expect(answerOfStripe({ ...two, items }, cards)).toMatchObject({
      ...{ reason: 'quantity_too_large', member: 'items.1.quantity' },
    });
  });

  test('accepts both ends of the range of every supported currency', () => {
    const supported = currencies.filter(currency => stripeRangeOf(currency, cards) !== undefined);
    expect(supported.length).toBeGreaterThan(130);
    for (const currency of supported) {
      const { min, max } = stripeRangeOf(currency, cards) ?? { min: 0, max: 0 };
      expect([currency, answerOfStripe(asked(currency, min), cards)]).toEqual([currency, possible]);
      expect([currency, answerOfStripe(asked(currency, max), cards)]).toEqual([currency, possible]);
      expect(answerOfStripe(asked(currency, max + 1), cards)).toMatchObject({ result: 'impossible' });
    }
  });
});
