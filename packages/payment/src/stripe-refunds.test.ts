import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chargeOf } from './contract/processor-world.ts';
import type { PaymentProcessor } from './processor.ts';
import { processorConfigSchema } from './processor-config.ts';
import { createStripeProcessor } from './stripe-processor.ts';

let stripe: FakeStripe;
beforeEach(async () => {
  stripe = await startFakeStripe({ restrictedKey: 'rk_test_noRefunds' });
});
afterEach(() => stripe[Symbol.asyncDispose]());

function processorWith(config: object = {}): PaymentProcessor {
  const parsed = processorConfigSchema.parse({
    type: 'stripe',
    name: 'stripe',
    secretKey: stripe.secretKey,
    apiUrl: stripe.origin,
    webhookSecrets: ['whsec_current'],
    ...config,
  });
  return createStripeProcessor(parsed, { gateway: 'gateway.example', now: Date.now, timeoutMs: 20_000 });
}

async function paid(currency = 'EUR', minorUnits = 1050, account: { readonly payeeAccount?: string } = {}) {
  const processor = processorWith();
  const { reference } = await processor.open({ ...chargeOf({ currency, minorUnits }), ...account });
  stripe.pay(reference);
  const status = await processor.status(reference);
  if (status.state !== 'paid') throw new Error('not paid');
  const { processorReference } = status;
  const order = (refundId: string, minorUnits: number) => ({
    refundId,
    processorReference,
    amount: { currency, minorUnits },
    elicitationId: 'el_1',
    mcpServerId: 'shop',
    ...account,
  });
  return { processor, processorReference, order };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string; processorCode?: string }) => [error.code, error.processorCode],
  );

describe('S115: a refund', () => {
  test('is made once under its name, on any number of replicas, and after Stripe has forgotten its keys', async () => {
    const { processor, order } = await paid();
    const first = await processor.refund(order('rf_1', 500));
    expect(first).toMatchObject({ refundId: 'rf_1', minorUnits: 500, status: 'succeeded' });
    stripe.forgetKeys();
    expect(await processorWith().refund(order('rf_1', 500))).toEqual(first);
    expect(stripe.refunds).toMatchObject([{ amount: 500, metadata: { refundId: 'rf_1', gateway: 'gateway.example' } }]);
  });

  test('is made once by concurrent orders', async () => {
    const { processor, order } = await paid();
    await Promise.all(Array.from({ length: 10 }, () => processor.refund(order('rf_1', 500)).catch(() => undefined)));
    expect(stripe.refunds).toHaveLength(1);
  });

  test.each([
    ['lost before the effect', { loseAnswer: 'before' }],
    ['lost after the effect', { loseAnswer: 'after' }],
    ['a failure', { status: 503 }],
    ['a rate limit', { status: 429 }],
    ['a conflict', { status: 409 }],
    ['a refused key', { status: 401 }],
    ['a missing right', { status: 403 }],
    ['not JSON', { body: '<html>' }],
    ['another object', { body: '{"object":"refund","id":"re_1","payment_intent":"pi_other"}' }],
  ] as const)('has an unknown result after a response that is %s, and is then made once', async (_, does) => {
    const { processor, order } = await paid();
    stripe.fault({ kind: 'refund', does });
    expect((await codeOf(processor.refund(order('rf_1', 500))))[0]).toBe('unavailable');
    expect(await processor.refund(order('rf_1', 500))).toMatchObject({ status: 'succeeded' });
    expect(stripe.refunds).toHaveLength(1);
  });

  test('is made under a further key after a failure that Stripe has stored', async () => {
    const { processor, order } = await paid();
    stripe.fault({ kind: 'refund', does: { status: 500, isStored: true } });
    expect((await codeOf(processor.refund(order('rf_1', 500))))[0]).toBe('unavailable');
    expect(await processor.refund(order('rf_1', 500))).toMatchObject({ status: 'succeeded' });
    expect(stripe.refunds).toHaveLength(1);
  });

  test('is not ordered while the list of refunds is unknown', async () => {
    const { processor, order } = await paid();
    stripe.fault({ kind: 'refunds', does: { status: 500 } });
    expect((await codeOf(processor.refund(order('rf_1', 500))))[0]).toBe('unavailable');
    expect(stripe.requests('refund')).toEqual([]);
    const restricted = processorWith({ secretKey: 'rk_test_noRefunds' });
    expect((await codeOf(restricted.refund(order('rf_1', 500))))[0]).toBe('unavailable');
  });

  test('is found among more refunds than one page lists', async () => {
    const { processor, processorReference, order } = await paid('EUR', 99_000);
    await processor.refund(order('rf_1', 10));
    for (let n = 0; n < 120; n += 1) stripe.refundInDashboard(processorReference, 1);
    stripe.forgetKeys();
    await processor.refund(order('rf_1', 10));
    expect(await processor.refunds(processorReference, 'EUR')).toHaveLength(121);
  });
});

describe('S141: a refund of a payment to a connected account', () => {
  test('is paid by that account', async () => {
    const { processor, order } = await paid('EUR', 1050, { payeeAccount: 'acct_shop' });
    expect(await processor.refund(order('rf_1', 500))).toMatchObject({ status: 'succeeded' });
    expect(new URLSearchParams(stripe.requests('refund').at(-1)?.body).get('reverse_transfer')).toBe('true');
  });

  test('of another payment reverses no transfer', async () => {
    const { processor, order } = await paid();
    await processor.refund(order('rf_1', 500));
    expect(stripe.requests('refund').at(-1)?.body).not.toContain('reverse_transfer');
  });
});

describe('S116: Stripe refuses for good', () => {
  test('more than was paid, and anything during a dispute', async () => {
    const { processor, processorReference, order } = await paid();
    expect(await codeOf(processor.refund(order('rf_1', 1051)))).toEqual(['refused', 'invalid_request_error']);
    await processor.refund(order('rf_2', 1050));
    expect(await codeOf(processor.refund(order('rf_3', 1)))).toEqual(['refused', 'charge_already_refunded']);
    stripe.dispute(processorReference, 'needs_response');
    expect(await codeOf(processor.refund(order('rf_4', 1)))).toEqual(['refused', 'charge_disputed']);
  });

  test('amounts that it cannot represent are known before', async () => {
    const processor = processorWith();
    expect(processor.canRefund({ currency: 'KWD', minorUnits: 1055 })).toBe(false);
    expect(processor.canRefund({ currency: 'KWD', minorUnits: 1050 })).toBe(true);
    const { order } = await paid('ISK', 1050);
    await processor.refund(order('rf_1', 50));
    expect(stripe.refunds).toMatchObject([{ amount: 5000, currency: 'isk' }]);
  });
});

describe('S117: reports', () => {
  test('name the refunds of this gateway only, and convert amounts and statuses', async () => {
    const { processor, processorReference, order } = await paid('JPY', 1050);
    stripe.refundsBeginAs('requires_action');
    const { processorReference: made } = await processor.refund(order('rf_1', 50));
    stripe.refundsBeginAs('succeeded');
    stripe.refundInDashboard(processorReference, 100);
    expect(await processor.refunds(processorReference, 'JPY')).toMatchObject([
      { minorUnits: 100, status: 'succeeded' },
      { minorUnits: 50, status: 'pending', refundId: 'rf_1' },
    ]);
    const [, foreign] = await processorWith({ gateway: 'staging' }).refunds(processorReference, 'JPY');
    expect(foreign).toMatchObject({ minorUnits: 50 });
    expect(foreign?.refundId).toBeUndefined();
    stripe.settleRefund(made, 'failed');
    expect((await processor.refunds(processorReference, 'JPY'))[1]).toMatchObject({
      status: 'failed',
      failure: 'expired_or_canceled_card',
    });
  });

  test.each([
    ['an unknown status, which counts as pending', { status: 'constructor' }, 'pending'],
    ['a time that no calendar has', { created: 8_640_000_000_001 }, 'unavailable'],
    ['a time before 1970', { created: -1 }, 'unavailable'],
    ['another currency than the payment', { currency: 'usd' }, 'unavailable'],
  ])('have %s', async (_, change, expected) => {
    const { processor, processorReference, order } = await paid();
    await processor.refund(order('rf_1', 500));
    const data = [{ ...stripe.refunds[0], object: 'refund', ...change }];
    const body = JSON.stringify({ object: 'list', data, has_more: false, url: '/v1/refunds' });
    stripe.fault({ kind: 'refunds', does: { body } });
    const reported = await processor.refunds(processorReference, 'EUR').then(
      ([refund]) => refund?.status,
      (error: { code: string }) => error.code,
    );
    expect(reported).toBe(expected);
  });

  test.each([
    ['warning_needs_response', 'inquiry', 'inquiry'],
    ['warning_under_review', 'inquiry', 'inquiry'],
    ['warning_closed', 'inquiry', 'won'],
    ['needs_response', 'chargeback', 'open'],
    ['under_review', 'chargeback', 'open'],
    ['appeal_needs_response', 'chargeback', 'open'],
    ['appeal_under_review', 'chargeback', 'open'],
    ['a_new_status', 'chargeback', 'open'],
    ['constructor', 'chargeback', 'open'],
    ['won', 'chargeback', 'won'],
    ['lost', 'chargeback', 'lost'],
    ['prevented', 'resolution', 'lost'],
    ['prevented', 'a_new_type', 'lost'],
    ['prevented', 'block', 'won'],
  ])('S144: a dispute with %s (%s) is %s', async (named, caseType, status) => {
    const { processor, processorReference } = await paid();
    stripe.dispute(processorReference, named, caseType);
    expect(await processor.disputes(processorReference)).toMatchObject([{ minorUnits: 1050, status }]);
  });

  test('S144: a dispute keeps its own currency', async () => {
    const { processor, processorReference } = await paid();
    stripe.dispute(processorReference, 'needs_response', 'chargeback', { amount: 1234, currency: 'jpy' });
    expect(await processor.disputes(processorReference)).toMatchObject([{ currency: 'JPY', minorUnits: 1234 }]);
  });
});
