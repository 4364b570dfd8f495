import type { PaymentTerms } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { checkoutParamsOf } from './stripe-processor.ts';

function paramsOf(terms: Omit<PaymentTerms, 'payee' | 'reference'>, payeeAccount?: string) {
  const charge = {
    ...(payeeAccount !== undefined && { payeeAccount }),
    key: 'key',
    digest: 'digest',
    elicitationId: 'el_1',
    mcpServerId: 'shop',
    mcpServerName: 'Shop',
    returnUrl: 'https://gateway.example/',
    cancelUrl: 'https://gateway.example/',
    terms: { payee: { name: 'Corner Shop' }, reference: 'Order 7', ...terms },
  };
  return checkoutParamsOf(charge, { paymentMethodTypes: ['card'], gateway: 'gateway.example' });
}

function linesOf(terms: Omit<PaymentTerms, 'payee' | 'reference'>) {
  return paramsOf(terms)?.line_items?.map(line => [
    line.price_data?.product_data?.name,
    line.quantity,
    line.price_data?.unit_amount,
    line.price_data?.currency,
  ]);
}

const eur = (minorUnits: number) => ({ currency: 'EUR', minorUnits });
const item = (label: string, quantity: number, unitMinorUnits: number) => ({ label, quantity, unitMinorUnits });

describe('the parameters of a Checkout Session', () => {
  test('the parameters have a line per item', () => {
    expect(linesOf({ amount: eur(1050), items: [item('Tea', 2, 500), item('Bag', 1, 50)] })).toEqual([
      ['Tea', 2, 500, 'eur'],
      ['Bag', 1, 50, 'eur'],
    ]);
    expect(linesOf({ amount: { currency: 'ISK', minorUnits: 7 }, items: [item('Tea', 7, 1)] })).toEqual([
      ['Tea', 7, 100, 'isk'],
    ]);
  });

  test.each([
    ['no items', { amount: eur(1050) }, 1050, 'eur'],
    ['a discount', { amount: eur(900), items: [item('Tea', 2, 500), item('Discount', 1, -100)] }, 900, 'eur'],
    [
      'an item in a fraction of the unit at Stripe',
      { amount: { currency: 'KWD', minorUnits: 1010 }, items: [item('Tea', 2, 505)] },
      ...([1010, 'kwd'] as const),
    ],
  ])('the parameters of a payment with %s have one line for the total', (_, terms, unitAmount, currency) => {
    expect(linesOf(terms)).toEqual([['Order 7', 1, unitAmount, currency]]);
  });

  test('S141: the money of a payee with an account goes there, and otherwise to the account of the key', () => {
    expect(paramsOf({ amount: eur(1050) }, 'acct_1')?.payment_intent_data?.transfer_data).toEqual({
      destination: 'acct_1',
    });
    expect(paramsOf({ amount: eur(1050) })?.payment_intent_data).not.toHaveProperty('transfer_data');
  });

  test('there are no parameters for an amount that Stripe cannot take exactly', () => {
    expect(linesOf({ amount: { currency: 'KWD', minorUnits: 1055 } })).toBeUndefined();
  });
});
