import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { Charge } from '@postern/elicitation';
import { createFakeClock, type FakeClock } from '@postern/testkit/clock';
import { type FakeStripe, type StripeRequestKind, startFakeStripe } from '@postern/testkit/stripe';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describePaymentProcessor, type ProcessorVerb, type ProcessorWorld } from './contract/index.ts';
import {
  chargeKeyOf,
  type OpenCharge,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorFetch,
} from './processor.ts';
import { processorConfigSchema } from './processor-config.ts';
import { fromStripeAmount } from './stripe-amounts.ts';
import { createStripeProcessor } from './stripe-processor.ts';

const current = 'whsec_current';
const previous = 'whsec_previous';
const restrictedKey = 'rk_test_noPaymentIntents';
const kinds: Readonly<Record<ProcessorVerb, StripeRequestKind>> = {
  open: 'create',
  status: 'retrieve',
  close: 'expire',
};
const answers = { too_many: { status: 429 }, failure: { status: 503 }, refusal: { status: 400, code: 'refused_here' } };

interface StripeWorld extends ProcessorWorld {
  readonly stripe: FakeStripe;
  readonly clock: FakeClock;
  processorWith(
    config: Readonly<Record<string, unknown>>,
    options?: { timeoutMs?: number; fetch?: ProcessorFetch },
  ): PaymentProcessor;
}

async function makeStripeWorld(): Promise<StripeWorld> {
  const clock = createFakeClock();
  const stripe = await startFakeStripe({ now: clock.now, webhookSecrets: [current], restrictedKey });
  const newestEvent = ({ reference }: Charge) => {
    const event = stripe.eventsOf(reference).at(-1);
    if (!event) throw new Error('nothing has happened to this charge');
    return event;
  };
  const processorWith: StripeWorld['processorWith'] = (more, options = {}) => {
    const config = { type: 'stripe', name: 'stripe', secretKey: stripe.secretKey, apiUrl: stripe.origin };
    const parsed = processorConfigSchema.parse({ ...config, webhookSecrets: [current, previous], ...more });
    return createStripeProcessor(parsed, { gateway: 'gateway.example', now: clock.now, timeoutMs: 20_000, ...options });
  };
  return {
    stripe,
    clock,
    processorWith,
    processor: processorWith({}),
    replica: processorWith({}),
    otherGateway: processorWith({ gateway: 'staging.example' }),
    amounts: [
      { currency: 'JPY', minorUnits: 1050 },
      { currency: 'EUR', minorUnits: 1050 },
      { currency: 'KWD', minorUnits: 1050 },
    ],
    impossible: { currency: 'KWD', minorUnits: 1055 },
    pay: async ({ reference }) => stripe.pay(reference) === 'paid',
    async payLater({ reference }) {
      stripe.pay(reference, { settles: 'later' });
    },
    settleLater: async ({ reference }, result) => stripe.settleLater(reference, result),
    runOut: async () => clock.advance(24 * 60 * 60 * 1000),
    loseAnswer: (verb, when) => stripe.loseAnswer(kinds[verb], when),
    answerWith: (verb, answer) => stripe.fault({ kind: kinds[verb], does: answers[answer] }),
    hold: verb => stripe.hold(kinds[verb], 'after'),
    chargesUnder: key => stripe.checkoutSessionsUnder(key).length,
    paymentsOf: elicitationId =>
      stripe.chargesOf(elicitationId).map(({ amount, currency }) => {
        const taken = fromStripeAmount(amount, currency);
        if (!taken) throw new Error('an amount that cannot be');
        return taken;
      }),
    webhook(charge, { signedBy = 'current', ageSeconds = 0 } = {}) {
      const secrets = {
        current: [current],
        previous: [previous],
        both: [previous, current],
        stranger: ['whsec_other'],
      };
      return stripe.signed(newestEvent(charge), { secrets: secrets[signedBy], at: clock.now() - ageSeconds * 1000 });
    },
    foreignWebhook: () =>
      stripe.signed(stripe.happenElsewhere('customer.created', { id: 'cus_1', object: 'customer' })),
    [Symbol.asyncDispose]: () => stripe.close(),
  };
}

describePaymentProcessor('Stripe', makeStripeWorld);

describe('Stripe', () => {
  let world: StripeWorld;
  beforeEach(async () => {
    world = await makeStripeWorld();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const amount = { currency: 'EUR', minorUnits: 1050 };
  const ask: OpenCharge = {
    key: chargeKeyOf('el_1', 'attempt-1'),
    terms: {
      payee: { name: 'Corner Shop' },
      amount,
      items: [
        { label: 'Tea & cake', quantity: 2, unitMinorUnits: 500 },
        { label: 'Bag', quantity: 1, unitMinorUnits: 50 },
      ],
      reference: 'Order 7',
    },
    digest: 'digest-1',
    elicitationId: 'el_1',
    mcpServerId: 'shop',
    mcpServerName: 'Corner Shop',
    returnUrl: 'https://gateway.example/e/el_1/charge',
    cancelUrl: 'https://gateway.example/e/el_1',
  };
  /** Stripe with these members changed in every response. */
  const altering =
    (change: object): ProcessorFetch =>
    async (url, init) =>
      Response.json({ ...((await (await fetch(url, init)).json()) as object), ...change });
  const failureOf = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    );

  test('sends the pinned API version and the key of the charge, and the elicitation in the metadata of both objects', async () => {
    const { reference } = await world.processor.open(ask);
    const [request] = world.stripe.requests('create');
    expect(request).toMatchObject({ idempotencyKey: ask.key, apiVersion: '2026-10-28.endive' });
    const metadata = {
      gateway: 'gateway.example',
      elicitationId: 'el_1',
      digest: 'digest-1',
      mcpServerId: 'shop',
    };
    expect(world.stripe.checkoutSession(reference)).toMatchObject({
      metadata,
      client_reference_id: 'el_1',
      amount_total: 1050,
      currency: 'eur',
      payment_method_types: ['card'],
      success_url: ask.returnUrl,
      cancel_url: ask.cancelUrl,
      locale: 'auto',
    });
    world.stripe.pay(reference);
    const intentId = world.stripe.checkoutSession(reference).payment_intent;
    const answer = await fetch(`${world.stripe.origin}/v1/payment_intents/${intentId}`, {
      headers: { authorization: `Bearer ${world.stripe.secretKey}` },
    });
    expect(await answer.json()).toMatchObject({ metadata, description: 'Order 7', amount_received: 1050 });
    expect(await world.processor.status(reference)).toEqual({
      state: 'paid',
      processorReference: intentId,
      amount,
      mode: 'test',
    });
  });

  test.each([
    [{ amount: { currency: 'EUR', minorUnits: 49 } }, 'amount_too_small'],
    [{ amount: { currency: 'HUF', minorUnits: 17_400 } }, 'amount_too_small'],
    [{ amount: { currency: 'USD', minorUnits: 100_000_000 } }, 'amount_too_large'],
    [{ amount: { currency: 'CUP', minorUnits: 1000 } }, 'invalid_request_error'],
    [
      {
        amount: { currency: 'EUR', minorUnits: 1_000_000 },
        items: [{ label: 'Tea', quantity: 1_000_000, unitMinorUnits: 1 }],
      },
      'parameter_invalid_integer',
    ],
  ])('S70: Stripe itself refuses what canTake refuses at issue: %j', async (terms, processorCode) => {
    const { items: _, ...bare } = ask.terms;
    const refused = { ...bare, ...terms };
    expect(world.processor.canTake(refused)).toMatchObject({ result: 'impossible' });
    const failure = { code: 'refused', processorCode };
    await expect(world.processor.open({ ...ask, terms: refused })).rejects.toMatchObject(failure);
  });

  test('sends the same request at any time, on any replica, in any language and under any name', async () => {
    await world.processor.open(ask);
    world.clock.advance(11 * 60 * 1000);
    await world.replica.open({ ...ask, locale: 'fr', mcpServerName: 'Renamed' });
    const [first, second] = world.stripe.requests('create');
    expect(second?.body).toBe(first?.body);
  });

  test('turns off what would let Stripe charge another amount or currency', async () => {
    await world.processor.open(ask);
    const sent = new URLSearchParams(world.stripe.requests('create')[0]?.body);
    const names = ['adaptive_pricing[enabled]', 'allow_promotion_codes', 'automatic_tax[enabled]'];
    expect(names.map(name => sent.get(name))).toEqual(['false', 'false', 'false']);
  });

  test('skips a failure that Stripe has stored under the key, equally for all callers', async () => {
    world.stripe.fault({ kind: 'create', does: { status: 500, isStored: true } });
    await expect(world.processor.open(ask)).rejects.toMatchObject({ code: 'unavailable' });
    const charge = await world.processor.open(ask);
    expect(await world.replica.open(ask)).toEqual(charge);
    expect(world.stripe.checkoutSessionsOf('el_1')).toHaveLength(1);
  });

  test('gives up after several stored failures', async () => {
    world.stripe.fault({ kind: 'create', times: 100, does: { status: 500, isStored: true } });
    for (let n = 0; n < 8; n += 1)
      await expect(world.processor.open(ask)).rejects.toMatchObject({ code: 'unavailable' });
    const keys = new Set(world.stripe.requests('create').map(({ idempotencyKey }) => idempotencyKey));
    expect([...keys]).toEqual([ask.key, `${ask.key}-2`, `${ask.key}-3`, `${ask.key}-4`]);
  });

  test('is unavailable, not refused, if the key was used with another body: a session may exist', async () => {
    await world.processor.open(ask);
    const other = world.processorWith({ paymentMethodTypes: ['card', 'sepa_debit'] });
    await expect(other.open(ask)).rejects.toMatchObject({ code: 'unavailable', processorCode: 'idempotency_error' });
    expect(world.stripe.checkoutSessionsOf('el_1')).toHaveLength(1);
  });

  test('refuses a new charge with a wrong secret key, and is unavailable for the status of an old one', async () => {
    const { reference } = await world.processor.open(ask);
    const stranger = world.processorWith({ secretKey: 'sk_test_another' });
    const error = await failureOf(stranger.open({ ...ask, key: 'another' }));
    expect(error).toMatchObject({ code: 'refused', processorRequestId: expect.stringMatching(/^req_/) });
    await expect(stranger.status(reference)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(stranger.close(reference)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test.each([
    [400, undefined, 'refused'],
    [402, 'card_declined', 'refused'],
    [403, undefined, 'refused'],
    [400, 'rate_limit', 'unavailable'],
    [408, undefined, 'unavailable'],
    [409, 'lock_timeout', 'unavailable'],
    [424, undefined, 'unavailable'],
    [429, undefined, 'unavailable'],
    [500, undefined, 'unavailable'],
    [503, undefined, 'unavailable'],
  ])('status %i with code %s is %s', async (status, code, expected) => {
    world.stripe.fault({ kind: 'create', does: { status, ...(code !== undefined && { code }) } });
    await expect(world.processor.open(ask)).rejects.toMatchObject({ code: expected });
  });

  test('errors contain identifiers, but no request or response text', async () => {
    world.stripe.fault({ kind: 'create', does: { status: 400, code: 'amount_too_small' } });
    const refused = await failureOf(world.processor.open(ask));
    const unauthorized = await failureOf(world.processorWith({ secretKey: 'sk_test_another' }).open(ask));
    world.stripe.loseAnswer('create', 'before');
    const lost = await failureOf(world.processor.open(ask));
    expect(refused).toMatchObject({ code: 'refused', processorCode: 'amount_too_small' });
    for (const error of [refused, unauthorized, lost]) {
      expect(error).toBeInstanceOf(ProcessorError);
      expect(error).not.toHaveProperty('cause');
      const everything = inspect(error, { depth: 9, showHidden: true });
      for (const secret of [world.stripe.secretKey, 'sk_test', 'As asked', 'Order 7', ask.returnUrl]) {
        expect(everything).not.toContain(secret);
      }
    }
  });

  describe('S71: with a restricted key that may not read PaymentIntents', () => {
    const restricted = () => world.processorWith({ secretKey: restrictedKey });

    test('reads an open, a paid and an expired charge', async () => {
      const { reference } = await restricted().open(ask);
      await expect(restricted().status(reference)).resolves.toEqual({ state: 'open' });
      world.stripe.pay(reference);
      const processorReference = world.stripe.checkoutSession(reference).payment_intent;
      await expect(restricted().status(reference)).resolves.toMatchObject({
        state: 'paid',
        processorReference,
        amount,
      });
      expect(await restricted().close(reference)).toMatchObject({ state: 'paid' });
      const second = await restricted().open({ ...ask, key: 'second' });
      expect(await restricted().close(second.reference)).toEqual({ state: 'closed' });
      expect(await restricted().status(second.reference)).toEqual({ state: 'closed' });
    });

    test('reports the refusal of Stripe if the status needs the PaymentIntent', async () => {
      const { reference } = await restricted().open(ask);
      world.stripe.pay(reference, { settles: 'later' });
      await expect(restricted().status(reference)).rejects.toMatchObject({
        code: 'unavailable',
        processorCode: 'invalid_request_error',
        processorStatus: 403,
        processorRequestId: expect.stringMatching(/^req_/),
      });
      world.stripe.settleLater(reference, 'succeeded');
      expect(await restricted().status(reference)).toMatchObject({ state: 'paid', amount });
    });
  });

  test.each([
    [true, 'live'],
    [false, 'test'],
  ] as const)(
    'S69: takes the mode from the response (livemode: %s), not from the secret key',
    async (livemode, mode) => {
      await using stripe = await startFakeStripe({ now: world.clock.now, livemode });
      const processor = world.processorWith({ apiUrl: stripe.origin, secretKey: stripe.secretKey });
      expect(processor.expectedMode).toBe('test');
      const charge = await processor.open(ask);
      expect(charge).toMatchObject({ mode });
      stripe.pay(charge.reference);
      expect(await processor.status(charge.reference)).toMatchObject({ state: 'paid', mode });
    },
  );

  test('times out without a response, and finds the charge afterwards', async () => {
    const hold = world.stripe.hold('create', 'after');
    const hasty = world.processorWith({}, { timeoutMs: 50 });
    await expect(hasty.open(ask)).rejects.toMatchObject({ code: 'unavailable' });
    hold.release();
    await world.processor.open(ask);
    expect(world.stripe.checkoutSessionsOf('el_1')).toHaveLength(1);
  });

  test.each(['', 'null', '[]', '{}', '<html></html>', '{"id":"cs_1","object":"checkout.session","status":"open"}'])(
    'is unavailable after a response that is not from Stripe: %j',
    async body => {
      const { reference } = await world.processor.open(ask);
      for (const kind of ['create', 'retrieve', 'expire'] as const) world.stripe.fault({ kind, does: { body } });
      await expect(world.processor.open(ask)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(world.processor.status(reference)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(world.processor.close(reference)).rejects.toMatchObject({ code: 'unavailable' });
    },
  );

  test('refuses a session whose page is on an unexpected host', async () => {
    const named = world.processorWith({ checkoutHost: 'pay.shop.example' });
    expect(named.destinationHost).toBe('pay.shop.example');
    await expect(named.open(ask)).rejects.toMatchObject({ code: 'refused', processorCode: 'other_checkout_host' });
  });

  test.each([
    [{ amount_total: 1051 }, { code: 'refused', processorCode: 'other_amount' }],
    [{ currency: 'usd' }, { code: 'refused', processorCode: 'other_amount' }],
  ])('T30: refuses a session with another amount: %o', async (change, failure) => {
    await expect(world.processorWith({}, { fetch: altering(change) }).open(ask)).rejects.toMatchObject(failure);
  });

  test('is unavailable after a response about another session', async () => {
    const { reference } = await world.processor.open(ask);
    const confused = world.processorWith({}, { fetch: altering({ id: 'cs_other', payment_status: 'paid' }) });
    const failure = { code: 'unavailable', processorCode: 'invalid_answer' };
    await expect(confused.status(reference)).rejects.toMatchObject(failure);
  });

  test('reports the paid amount if it differs from the requested one', async () => {
    const { reference } = await world.processor.open(ask);
    world.stripe.pay(reference, { amount: 9900, currency: 'jpy' });
    expect(await world.processor.status(reference)).toMatchObject({ amount: { currency: 'JPY', minorUnits: 9900 } });
  });

  test('is unavailable, not unpaid, for a payment in an unknown currency', async () => {
    const { reference } = await world.processor.open(ask);
    world.stripe.pay(reference, { currency: 'zzz' });
    await expect(world.processor.status(reference)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('names the charge of every event of its own Checkout Sessions, and of no other event', async () => {
    const { reference } = await world.processor.open(ask);
    world.stripe.pay(reference, { settles: 'later' });
    world.stripe.settleLater(reference, 'succeeded');
    const second = await world.processor.open({ ...ask, key: 'second' });
    world.stripe.pay(second.reference, { settles: 'later' });
    world.stripe.settleLater(second.reference, 'failed');
    const third = await world.processor.open({ ...ask, key: 'third' });
    world.stripe.expire(third.reference);
    const events = [...world.stripe.events].reverse();
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set([
        'checkout.session.completed',
        'checkout.session.async_payment_succeeded',
        'checkout.session.async_payment_failed',
        'checkout.session.expired',
      ]),
    );
    for (const event of events) {
      expect(await world.processor.webhook(world.stripe.signed(event))).toEqual({
        reference: event.data.object['id'],
        elicitationId: 'el_1',
        namesGateway: true,
      });
    }
    const [event] = events;
    const checkoutSession = event?.data.object ?? {};
    for (const [type, object] of [
      ['checkout.session.completed', { ...checkoutSession, metadata: {} }],
      ['checkout.session.completed', { ...checkoutSession, object: 'payment_intent' }],
      ['payment_intent.succeeded', checkoutSession],
      ['checkout.session.completed', {}],
    ] as const) {
      const foreign = world.stripe.signed(world.stripe.happenElsewhere(type, object));
      expect(await world.processor.webhook(foreign)).toBeUndefined();
    }
  });

  test('sends requests through the given fetch; the default one follows no redirect', async () => {
    const urls: string[] = [];
    const processor = world.processorWith(
      {},
      {
        fetch: (url, init) => {
          urls.push(String(url));
          return fetch(url, init);
        },
      },
    );
    await processor.open(ask);
    expect(urls).toEqual([`${world.stripe.origin}/v1/checkout/sessions`]);
    const elsewhere = createServer((_, response) => {
      response.writeHead(307, { location: `${world.stripe.origin}/v1/checkout/sessions` }).end();
    });
    await new Promise<void>(resolve => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    const misled = world.processorWith({ apiUrl: `http://127.0.0.1:${port}` });
    await expect(misled.open({ ...ask, key: 'misled' })).rejects.toMatchObject({ code: 'unavailable' });
    expect(world.stripe.checkoutSessionsUnder('misled')).toEqual([]);
    elsewhere.closeAllConnections();
    elsewhere.close();
  });
});
