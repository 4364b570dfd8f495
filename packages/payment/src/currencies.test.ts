import { describe, expect, it, test } from 'vitest';
import { decimalsOf } from './stripe-amounts.ts';
import { everyCurrency } from './testing/every-currency.ts';

describe('decimalsOf', () => {
  it.each([
    ['EUR', 2],
    ['USD', 2],
    ['JPY', 0],
    ['KRW', 0],
    ['ISK', 0],
    ['UGX', 0],
    ['KWD', 3],
    ['IQD', 3],
    ['BHD', 3],
    ['HUF', 2],
    ['COP', 2],
    ['MGA', 2],
    ['MRU', 2],
    ['CLF', 4],
    ['UYW', 4],
    ['UYI', 0],
  ])('%s has %i', (currency, decimals) => {
    expect(decimalsOf(currency)).toBe(decimals);
  });

  it.each([
    ['without a minor unit', ['XAU', 'XDR', 'XTS', 'XXX']],
    ['withdrawn', ['DEM', 'HRK', 'BGN', 'SLL', 'ZWL', 'ANG', 'CUC', 'MRO', 'STD']],
    ['not a code', ['', 'EU', 'eur', 'EURO', ' EUR', 'constructor', '__proto__']],
  ])('decimalsOf is undefined for codes that are %s', (_, codes) => {
    expect(codes.map(decimalsOf)).toEqual(codes.map(() => undefined));
  });
});

test('the decimals in use are 0, 2, 3 and 4', () => {
  expect([...new Set(everyCurrency.map(decimalsOf))].sort()).toEqual([0, 2, 3, 4]);
});

test('Intl has other decimals for several currencies', () => {
  const intl = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  const wrong = everyCurrency.filter(currency => intl(currency) !== decimalsOf(currency));
  expect(wrong).toEqual(expect.arrayContaining(['COP', 'HUF', 'IQD']));
});
