import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import { expect, test } from 'vitest';
import { inspectProcessor, processorConfigSchema } from './index.ts';

const webhookUrl = 'https://gate.example/webhooks/pay';
const types = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
];

function inspected(stripe: FakeStripe, changes: object = {}) {
  const config = processorConfigSchema.parse({
    type: 'stripe',
    name: 'pay',
    secretKey: stripe.secretKey,
    apiUrl: stripe.origin,
    webhookSecrets: ['whsec_abc'],
    ...changes,
  });
  return inspectProcessor(config, { webhookUrl, timeoutMs: 60_000 });
}

test.each([
  ['missing', [], []],
  ['missing', [{ url: 'https://other.example/webhooks/pay', status: 'enabled', enabled_events: ['*'] }], []],
  ['disabled', [{ url: webhookUrl, status: 'disabled', enabled_events: ['*'] }], []],
  ['enabled', [{ url: webhookUrl, status: 'enabled', enabled_events: ['*'] }], []],
  ['enabled', [{ url: webhookUrl, status: 'enabled', enabled_events: types }], []],
  ['enabled', [{ url: webhookUrl, status: 'enabled', enabled_events: types.slice(1) }], types.slice(0, 1)],
] as const)('finds the webhook endpoint: %s', async (webhook, webhookEndpoints, missingEvents) => {
  await using stripe = await startFakeStripe({ webhookEndpoints });
  expect(await inspected(stripe)).toEqual({
    mode: 'test',
    key: 'accepted',
    missingPermissions: [],
    webhook,
    missingEvents: [...missingEvents],
  });
  // It has created nothing.
  expect([...stripe.checkoutSessions, ...stripe.refunds]).toEqual([]);
});

test('a refused key, and one without permissions', async () => {
  await using stripe = await startFakeStripe({ powerlessKey: 'rk_test_powerless' });
  expect(await inspected(stripe, { secretKey: 'rk_test_wrong' })).toMatchObject({ key: 'refused' });
  const refunding = ['PaymentIntents: read', 'Refunds: write', 'Disputes: read'];
  expect(await inspected(stripe, { secretKey: 'rk_test_powerless' })).toMatchObject({
    key: 'accepted',
    webhook: 'hidden',
    missingPermissions: ['Checkout Sessions: write', ...refunding],
  });
});

test('S145: a key that may charge and not refund', async () => {
  await using stripe = await startFakeStripe({ restrictedKey: 'rk_test_noRefunds' });
  expect(await inspected(stripe, { secretKey: 'rk_test_noRefunds' })).toMatchObject({
    key: 'accepted',
    missingPermissions: ['PaymentIntents: read', 'Refunds: write', 'Disputes: read'],
  });
});

test('an unavailable processor is an error without its text', async () => {
  await using stripe = await startFakeStripe();
  stripe.fault({ kind: 'expire', does: { status: 500 } });
  await expect(inspected(stripe)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
});
