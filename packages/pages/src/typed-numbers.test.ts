import fc from 'fast-check';
import { expect, test } from 'vitest';
import { locales } from './languages/languages.ts';
import { readTypedNumber, typedNumberText } from './typed-numbers.ts';

test.each([
  ['12', '12'],
  ['-7', '-7'],
  ['1,5', '1.5'],
  ['1.5', '1.5'],
  ['0,125', '0.125'],
  ['0.125', '0.125'],
  ['1234.567', '1234.567'],
  ['1,5000', '1.5000'],
  ['1.500,25', '1500.25'],
  ['1,500.25', '1500.25'],
  ['1.500.000', '1500000'],
  ['1,500,000', '1500000'],
  ['12,34,567', '1234567'],
  ['12,34,567.5', '1234567.5'],
  ['1 500', '1500'],
  ['1\u00a0500,5', '1500.5'],
  ['1\u202f500', '1500'],
  ['1’500', '1500'],
  ["1'500.25", '1500.25'],
  ['٣٫٥', '3.5'],
  ['١٬٥٠٠', '1500'],
  ['١٬٥٠٠٫٢٥', '1500.25'],
  ['\u061c-٣', '-3'],
  ['۱۲', '12'],
  ['१२', '12'],
  ['１２．５', '12.5'],
  ['−3,5', '-3.5'],
  ['1.125e3', '1.125e3'],
  ['.5', '.5'],
  ['5,', '5.'],
])('%s is %s in every language', (text, plain) => {
  expect(readTypedNumber(text)).toEqual({ plain });
});

test.each([
  ['1.500', '1500', '1.5'],
  ['1,500', '1500', '1.5'],
  ['-12,345', '-12345', '-12.3450'],
  ['1.000', '1000', '1.0'],
  ['١,٥٠٠', '1500', '1.5'],
])('%s may be %s or %s', (text, whole, decimal) => {
  expect(readTypedNumber(text)).toEqual({ ambiguous: { whole, decimal } });
});

test.each([
  '1.5.0',
  '1,50,0',
  '1.500.00',
  '1,2.3,4',
  '1 50',
  '1’500 000',
  '12a',
  '--1',
  '1٫2٫3',
  '1.٫5',
  '',
  '9'.repeat(101),
])('%j is no number and stays as it is', text => {
  expect(readTypedNumber(text)).toEqual({ plain: text });
});

test('digits of two scripts whose runs touch are read as what they are', () => {
  expect(readTypedNumber('\u{116db}\u{116dc}\u{116da}')).toEqual({ plain: '120' });
  expect(readTypedNumber('\u{116d1}\u{116d2}\u{116d0}')).toEqual({ plain: '120' });
});

test('what a page writes is read as the same number, in every language', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: -999_999, max: 999_999 }).map(thousandths => thousandths / 1000),
      ),
      fc.constantFrom(...locales, 'en-XA' as const),
      (value, locale) => {
        const read = readTypedNumber(typedNumberText(String(value), locale));
        expect('plain' in read ? Number(read.plain) + 0 : read).toBe(value + 0);
      },
    ),
  );
});

test('a number that is grouped or has a fraction of three digits is never guessed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 999 }),
      fc.integer({ min: 0, max: 999 }),
      fc.constantFrom('.', ','),
      (a, b, separator) => {
        const read = readTypedNumber(`${a}${separator}${String(b).padStart(3, '0')}`);
        expect('ambiguous' in read && Number(read.ambiguous.whole)).toBe(a * 1000 + b);
        expect('ambiguous' in read && Number(read.ambiguous.decimal)).toBe((a * 1000 + b) / 1000);
        for (const reading of 'ambiguous' in read ? Object.values(read.ambiguous) : [])
          expect(readTypedNumber(reading)).toEqual({ plain: reading });
      },
    ),
  );
});
