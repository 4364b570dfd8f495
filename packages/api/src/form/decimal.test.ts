import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberFromText } from './decimal.ts';

describe('a typed number', () => {
  test.each([
    ['0', 0],
    ['-0', 0],
    ['+7', 7],
    ['007', 7],
    ['1.', 1],
    ['.5', 0.5],
    ['1.50', 1.5],
    [' 12 ', 12],
    ['1e3', 1000],
    ['2.5E-2', 0.025],
    ['１２．５', 12.5],
    ['\u22123', -3],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['0.30000000000000004', 0.1 + 0.2],
    ['1e21', 1e21],
    ['5e-324', 5e-324],
    ['1.7976931348623157e308', Number.MAX_VALUE],
  ])('%j', (text, value) => {
    expect(numberFromText(text)).toBe(value);
  });

  test.each([
    '',
    ' ',
    '.',
    '-',
    'e5',
    '1e',
    '1,5',
    '1 500',
    "1'500",
    '0x10',
    '1n',
    'Infinity',
    'NaN',
    '--1',
    '1-',
    '١',
    '½',
    '1_000',
  ])('%j is none', text => {
    expect(numberFromText(text)).toBeUndefined();
  });

  test.each(['9007199254740993', '0.1234567890123456789', '1e309', '1e-400', '1'.repeat(101)])(
    '%j would be rounded to another number',
    text => {
      expect(numberFromText(text)).toBeUndefined();
    },
  );

  test('every number survives formatting and parsing', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        expect(numberFromText(String(value))).toBe(value + 0);
      }),
    );
  });

  test('every decimal of up to fifteen digits keeps its digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), fc.nat(15), (digits, fraction) => {
        const padded = String(digits).padStart(fraction + 1, '0');
        const text = fraction === 0 ? padded : `${padded.slice(0, -fraction)}.${padded.slice(-fraction)}`;
        expect(numberFromText(text)?.toFixed(fraction)).toBe(text);
      }),
    );
  });
});
