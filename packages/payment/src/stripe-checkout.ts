import type { PaymentTerms } from '@postern/elicitation';
import type { Stripe } from 'stripe';
import type { OpenCharge } from './processor.ts';
import { toStripeAmount } from './stripe-amounts.ts';

type CreateParams = Stripe.Checkout.SessionCreateParams;
type LineItem = Stripe.Checkout.SessionCreateParams.LineItem;

/**
 * What a Checkout Session is made from, or undefined when Stripe cannot take exactly this amount.
 *
 * The same key with another body is an error at Stripe, so everything here follows from stored facts and configuration; nothing
 * from the clock, the browser at hand or a name that may change. Hence no `expires_at`, which would have to lie 30 minutes after
 * Stripe's own clock at the least: the session has the 24 hours that Stripe gives it, and the gateway closes it when the
 * elicitation ends. And hence `locale: auto`: Stripe looks at the browser itself.
 */
export function checkoutOf(
  charge: OpenCharge,
  { paymentMethodTypes, gateway }: { readonly paymentMethodTypes: readonly string[]; readonly gateway: string },
): CreateParams | undefined {
  const { terms, digest, elicitationId, mcpServerId } = charge;
  const lineItems = lineItemsOf(terms);
  if (lineItems === undefined) return undefined;
  const metadata = { gateway, elicitationId, digest, mcpServerId };
  return {
    mode: 'payment',
    line_items: lineItems,
    allowed_payment_method_types: [...paymentMethodTypes],
    client_reference_id: elicitationId,
    metadata,
    payment_intent_data: { description: terms.reference, metadata },
    success_url: charge.returnUrl,
    cancel_url: charge.cancelUrl,
    locale: 'auto',
    submit_type: 'pay',
    // The account's own settings must change nothing about the sum that was approved.
    adaptive_pricing: { enabled: false },
    allow_promotion_codes: false,
    automatic_tax: { enabled: false },
  };
}

function lineItemsOf({ amount, items = [], reference, payee }: PaymentTerms): LineItem[] | undefined {
  const currency = amount.currency.toLowerCase();
  const total = toStripeAmount(amount);
  if (total === undefined) return undefined;
  const sum: LineItem = {
    quantity: 1,
    price_data: { currency, unit_amount: total, product_data: { name: reference, description: payee.name } },
  };
  const lineItems: LineItem[] = [];
  for (const { label, quantity, unitMinorUnits } of items) {
    const unitAmount = toStripeAmount({ currency: amount.currency, minorUnits: unitMinorUnits });
    // Stripe knows no line below zero and none in a fraction of its unit: then the sum is the only line.
    if (unitAmount === undefined || unitAmount < 0) return [sum];
    lineItems.push({ quantity, price_data: { currency, unit_amount: unitAmount, product_data: { name: label } } });
  }
  return lineItems.length === 0 ? [sum] : lineItems;
}
