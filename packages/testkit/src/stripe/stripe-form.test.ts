import { expect, test } from 'vitest';
import { parseForm } from './stripe-form.ts';

test('parses nested objects and lists', () => {
  const body =
    'mode=payment&line_items[0][quantity]=2&line_items[0][price_data][product_data][name]=Tea+%26+cake' +
    '&line_items[1][quantity]=1&metadata[a%5Db]=x&allowed_payment_method_types[0]=card&expand[0]=payment_intent';
  expect(parseForm(body)).toMatchObject({
    mode: 'payment',
    line_items: [{ quantity: '2', price_data: { product_data: { name: 'Tea & cake' } } }, { quantity: '1' }],
    allowed_payment_method_types: ['card'],
    expand: ['payment_intent'],
  });
});

test('parses names of Object.prototype as ordinary names', () => {
  const read = parseForm('__proto__[polluted]=1&metadata[constructor]=2');
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  expect(read['metadata']).toEqual({ constructor: '2' });
});
