import { expect, test } from 'vitest';
import { amountText } from './minor-units.ts';

test.each([
  ['EUR', 2490, '24.90 EUR'],
  ['EUR', 5, '0.05 EUR'],
  ['JPY', 1050, '1050 JPY'],
  ['KWD', 1, '0.001 KWD'],
  ['CLF', 12_345, '1.2345 CLF'],
  ['HUF', 100, '1.00 HUF'],
  ['USD', 999_999_999_999, '9999999999.99 USD'],
])('%s %d', (currency, minorUnits, text) => {
  expect(amountText({ currency, minorUnits })).toBe(text);
});
