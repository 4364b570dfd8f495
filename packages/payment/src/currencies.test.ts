import { describe, expect, it, test } from 'vitest';
import { currencies, decimalsOf } from './currencies.ts';

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
    ['no minor unit', ['XAU', 'XDR', 'XTS', 'XXX']],
    ['withdrawn', ['DEM', 'HRK', 'BGN', 'SLL', 'ZWL', 'ANG', 'CUC', 'MRO', 'STD']],
    ['not a code', ['', 'EU', 'eur', 'EURO', ' EUR', 'constructor', '__proto__']],
  ])('knows nothing of: %s', (_, codes) => {
    expect(codes.map(decimalsOf)).toEqual(codes.map(() => undefined));
  });
});

test('every code is there once and looks like one', () => {
  expect(new Set(currencies).size).toBe(currencies.length);
  expect(currencies.filter(code => !/^[A-Z]{3}$/.test(code))).toEqual([]);
  expect([...new Set(currencies.map(decimalsOf))].sort()).toEqual([0, 2, 3, 4]);
});

test('Intl would get several of them wrong', () => {
  const intl = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  const wrong = currencies.filter(currency => intl(currency) !== decimalsOf(currency));
  expect(wrong).toEqual(expect.arrayContaining(['COP', 'HUF', 'IQD']));
});
