import type { FakeStripe } from './index.ts';

interface AnswerBody {
  readonly id: string;
  readonly status: string;
  readonly created: number;
  readonly url: string | null;
  readonly error: { readonly code: string };
}

export interface StripeCall {
  readonly params?: Readonly<Record<string, string>>;
  readonly key?: string;
  readonly secretKey?: string;
}

/** Parameters of a Checkout Session for 10 euros. */
export const checkoutParams = {
  mode: 'payment',
  'line_items[0][quantity]': '2',
  'line_items[0][price_data][currency]': 'eur',
  'line_items[0][price_data][unit_amount]': '500',
  'line_items[0][price_data][product_data][name]': 'Tea <b>',
  'metadata[elicitationId]': 'el_1',
  success_url: 'https://shop.example/paid?id={CHECKOUT_SESSION_ID}',
  cancel_url: 'https://shop.example/back',
};

/** Calls the API of the fake Stripe without the official library. */
export async function callStripe(stripe: FakeStripe, method: 'GET' | 'POST', path: string, p: StripeCall = {}) {
  const answer = await fetch(stripe.origin + path, {
    method,
    headers: {
      authorization: `Bearer ${p.secretKey ?? stripe.secretKey}`,
      ...(p.key !== undefined && { 'idempotency-key': p.key }),
    },
    ...(method === 'POST' && { body: new URLSearchParams(p.params) }),
  });
  const { status, headers } = answer;
  return {
    status,
    isReplayed: headers.get('idempotent-replayed') === 'true',
    body: (await answer.json()) as AnswerBody,
  };
}
