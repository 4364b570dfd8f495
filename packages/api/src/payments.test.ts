import { describe, expect, test } from 'vitest';
import { paymentRequestSchema } from './payments.ts';

const pathsOf = (change: object) =>
  paymentRequestSchema
    .safeParse({
      payee: { name: 'Book Shop' },
      amount: { currency: 'EUR', minorUnits: 100 },
      reference: 'A-1',
      ...change,
    })
    .error?.issues.map(({ path }) => path.join('.')) ?? [];

describe('the name of a payee', () => {
  test.each([
    'Book Shop',
    'Café Zürich',
    'Яндекс Pay',
    'Ελληνικά Ταχυδρομεία',
    'JR東日本',
    'NTTドコモ',
    '네이버Pay',
    '微信支付 WeChat',
    'O’Reilly & Söhne GmbH',
    'شركة Acme',
    '3M',
  ])('%s', name => {
    expect(pathsOf({ payee: { name } })).toEqual([]);
  });

  test.each(['P\u0430ypal', '\u0410mazon', 'Goog\u03bfe', 'Stri\u0440e Inc', 'Appl\u0435\u0301'])(
    'that imitates another is refused: %s',
    name => {
      expect(pathsOf({ payee: { name } })).toEqual(['payee.name']);
    },
  );
});
