import { createHmac } from 'node:crypto';

/** A webhook as Stripe sends it: the exact body, and its signature header. */
export interface SignedWebhook {
  readonly body: Uint8Array;
  readonly headers: { readonly 'content-type': string; readonly 'stripe-signature': string };
}

/**
 * `Stripe-Signature`: the time, and an HMAC-SHA256 over time and body for every secret of the endpoint.
 * @param p.at epoch milliseconds
 * @see https://docs.stripe.com/webhooks#verify-manually
 */
export function signWebhook(p: { payload: string; secrets: readonly string[]; at: number }): SignedWebhook {
  const time = Math.floor(p.at / 1000);
  const signatures = p.secrets.map(
    secret => `v1=${createHmac('sha256', secret).update(`${time}.${p.payload}`).digest('hex')}`,
  );
  return {
    body: new TextEncoder().encode(p.payload),
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': [`t=${time}`, ...signatures].join(','),
    },
  };
}
