import { describe, expect, test } from 'vitest';
import { amountText, typedAmount } from './amounts.ts';

describe('S165: a typed amount', () => {
  test.each([
    ['5.00', 'EUR', 500],
    ['0.01', 'EUR', 1],
    ['500', 'JPY', 500],
    ['5.000', 'KWD', 5000],
    ['999999999999.99', 'EUR', 99_999_999_999_999],
  ])('%s %s is %d minor units', (text, currency, minorUnits) => {
    expect(typedAmount(text, currency)).toBe(minorUnits);
  });

  const refused: readonly (readonly [text: string, currency: string])[] = [
    ...[
      '5',
      '5.0',
      '5.000',
      '5,00',
      '5.',
      '.50',
      '0.00',
      '-5.00',
      '+5.00',
      ' 5.00',
      '5.00 ',
      '5e2',
      '٥.٠٠',
      '5.00\n',
    ].map(text => [text, 'EUR'] as const),
    ...['500.00', '1,000', '1.000', '0', '1_000'].map(text => [text, 'JPY'] as const),
    ...['5', '5.00'].map(text => [text, 'KWD'] as const),
    ['5.00', 'XYZ'],
    ['9999999999999.99', 'EUR'],
  ];
  test.each(refused)('%j in %s could mean another amount, and is refused', (text, currency) => {
    expect(typedAmount(text, currency)).toBeUndefined();
  });

  test('is shown as it is typed', () => {
    for (const currency of ['EUR', 'JPY', 'KWD'])
      for (const minorUnits of [1, 99, 100, 123_456]) {
        const [text = ''] = amountText({ currency, minorUnits }).split(' ');
        expect(typedAmount(text, currency)).toBe(minorUnits);
      }
  });
});
