import { startFakeStripe } from '@postern/testkit/stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processorConfigSchema } from './processor-config.ts';
import { createStripeProcessor } from './stripe-processor.ts';

const checkoutHost = 'checkout.stripe.com';
const restrictedKey = 'rk_test_noPaymentIntents';

let stripe: Awaited<ReturnType<typeof startFakeStripe>>;
beforeAll(async () => {
  stripe = await startFakeStripe({ restrictedKey, checkoutHost });
});
afterAll(() => stripe.close());

let asks = 0;
/** An open charge at a processor with this secret key. */
async function opened(secretKey = stripe.secretKey) {
  asks += 1;
  const processor = createStripeProcessor(
    processorConfigSchema.parse({
      type: 'stripe',
      name: 'stripe',
      secretKey,
      webhookSecrets: ['whsec_x'],
      apiUrl: stripe.origin,
      checkoutHost,
    }),
    { gateway: 'gateway.example', now: Date.now, timeoutMs: 20_000 },
  );
  const charge = await processor.open({
    key: `key-${asks}`,
    digest: 'digest',
    elicitationId: `el_${asks}`,
    mcpServerId: 'shop',
    mcpServerName: 'Shop',
    terms: { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1050 }, reference: 'Order 7' },
    returnUrl: 'https://gateway.example/e/el_1/charge',
    cancelUrl: 'https://gateway.example/e/el_1/charge',
  });
  return { processor, ...charge };
}

test('returns the complete URL of a charge, on the configured host', async () => {
  const { reference, url } = await opened();
  expect(url).toBe(stripe.checkoutSession(reference).url);
  expect(URL.parse(url)).toMatchObject({ host: checkoutHost, hash: expect.stringMatching(/^#fid.{400,}$/) });
});

test.each(['declined', 'requires_action'] as const)(
  'after a %s attempt a charge is open and can be closed',
  async result => {
    const { processor, reference } = await opened();
    stripe.attempt(reference, result);
    expect(await processor.status(reference)).toEqual({ state: 'open' });
    expect(await processor.close(reference)).toEqual({ state: 'closed' });
    expect(stripe.pay(reference)).toBe('not_open');
  },
);

test.each([undefined, restrictedKey])(
  'S91: a session that Stripe refuses to expire is open, with the refusal (key %s)',
  async key => {
    const { processor, reference } = await opened(key);
    stripe.attempt(reference, 'in_progress');
    await expect(processor.close(reference)).resolves.toEqual({
      state: 'open',
      refusal: {
        processorCode: 'invalid_request_error',
        processorStatus: 400,
        processorRequestId: expect.stringMatching(/^req_/),
      },
    });
    stripe.pay(reference);
    expect(await processor.close(reference)).toMatchObject({ state: 'paid' });
  },
);
