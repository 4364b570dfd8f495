import { describe, expect, test } from 'vitest';
import { amountHtml, amountText } from './amounts.ts';
import { loadLanguage } from './languages/languages.ts';
import { translatorFor } from './translator.ts';

await loadLanguage('zh-Hans');

const en = translatorFor({ locale: 'en' });
const zh = translatorFor({ locale: 'zh-Hans' });
const largest = Number.MAX_SAFE_INTEGER;

/** Intl separates the code and the figure by no-break spaces of several widths. */
const plain = (text: string) => text.replace(/\s/gu, ' ');

test.each([
  // ISO 4217 has currencies with 0, 2, 3 and 4 decimals. For JPY and CLF a wrong decimal point is a factor of 100 or
  // more.
  ['JPY', 0, 1050, '¥1,050 JPY', 'JP¥1,050'],
  ['EUR', 2, 2490, '€24.90', '€24.90'],
  ['KWD', 3, 1050, 'KWD 1.050', 'KWD 1.050'],
  ['CLF', 4, 12345, 'CLF 1.2345', 'CLF 1.2345'],
  // Amounts below one unit need leading zeros.
  ['EUR', 2, 0, '€0.00', '€0.00'],
  ['EUR', 2, 5, '€0.05', '€0.05'],
  ['KWD', 3, 5, 'KWD 0.005', 'KWD 0.005'],
  ['EUR', 2, -250, '-€2.50', '-€2.50'],
  ['EUR', 2, -5, '-€0.05', '-€0.05'],
  // The largest amount keeps every digit. Binary floating point cannot represent these fractions.
  ['EUR', 2, largest, '€90,071,992,547,409.91', '€90,071,992,547,409.91'],
  ['JPY', 0, largest, '¥9,007,199,254,740,991 JPY', 'JP¥9,007,199,254,740,991'],
  ['KWD', 3, largest, 'KWD 9,007,199,254,740.991', 'KWD 9,007,199,254,740.991'],
  ['CLF', 4, -largest, '-CLF 900,719,925,474.0991', '-CLF 900,719,925,474.0991'],
  // A symbol that several currencies share comes with the currency code.
  ['USD', 2, 100, '$1.00 USD', 'US$1.00'],
  ['GBP', 2, 100, '£1.00 GBP', '£1.00 GBP'],
  ['CNY', 2, 100, 'CN¥1.00', '¥1.00 CNY'],
  ['CAD', 2, 100, 'CA$1.00', 'CA$1.00'],
  ['XAF', 0, 100, 'FCFA 100 XAF', 'FCFA 100 XAF'],
  ['XOF', 0, 100, 'F CFA 100 XOF', 'F CFA 100 XOF'],
  // Currencies that Intl does not know, or for which its number of decimals differs from ISO 4217.
  ['ZZZ', 2, 100, 'ZZZ 1.00', 'ZZZ 1.00'],
  ['IQD', 3, 1050, 'IQD 1.050', 'IQD 1.050'],
])('%s with %i decimals: %i', (currency, decimals, minorUnits, english, chinese) => {
  expect(plain(amountText({ currency, decimals, minorUnits }, en))).toBe(english);
  expect(plain(amountText({ currency, decimals, minorUnits }, zh))).toBe(chinese);
});

test('the text has exactly the digits of the integer, for every number of decimals', () => {
  const integers = Array.from({ length: 53 }, (_, power) => [2 ** power - 1, 2 ** power]).flat();
  for (const minorUnits of [...integers, largest].filter(Number.isSafeInteger)) {
    for (const decimals of [0, 1, 2, 3, 4]) {
      const digits = amountText({ currency: 'EUR', minorUnits, decimals }, en).replace(/[^0-9]/g, '');
      expect(digits).toBe(String(minorUnits).padStart(decimals + 1, '0'));
    }
  }
});

describe('an invalid amount throws a TypeError', () => {
  test.each([
    { currency: 'EUR', minorUnits: 0.5, decimals: 2 },
    { currency: 'EUR', minorUnits: largest + 1, decimals: 2 },
    { currency: 'EUR', minorUnits: Number.NaN, decimals: 2 },
    { currency: 'EUR', minorUnits: Number.POSITIVE_INFINITY, decimals: 2 },
    { currency: 'EUR', minorUnits: 1, decimals: -1 },
    { currency: 'EUR', minorUnits: 1, decimals: 5 },
    { currency: 'EUR', minorUnits: 1, decimals: 1.5 },
    { currency: 'eur', minorUnits: 1, decimals: 2 },
    { currency: 'EURO', minorUnits: 1, decimals: 2 },
    { currency: '<b>', minorUnits: 1, decimals: 2 },
  ])('%j', amount => {
    expect(() => amountText(amount, en)).toThrow(TypeError);
    expect(() => amountHtml(amount, en)).toThrow(TypeError);
  });
});

test('the markup shows the same text', () => {
  const usd = { currency: 'USD', minorUnits: 2490, decimals: 2 };
  const shown = `${amountHtml(usd, en)}`;
  expect(shown.replace(/<[^>]*>/g, '')).toBe('$24.90 USD');
  expect(`${amountHtml({ ...usd, currency: 'EUR' }, en)}`).not.toContain('EUR');
});
