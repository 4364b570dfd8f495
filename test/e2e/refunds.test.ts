import type { PaymentBody, ProblemCode, RefundBody } from '@postern/api';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { paymentOf } from '../support/asks.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { listen } from '../support/event-listener.ts';
import { askPerson, auditOf, paidPerson, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { expireRecord } from '../support/stored-elicitation.ts';
import { keyOf, type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({
    payment: {},
    replicas: 2,
    otherMcpServers: [{ id: 'another' }],
    sweepPauseMs: 50,
  });
});
afterEach(() => {
  world.stripe.clearFaults();
  world.stripe.refundsBeginAs('succeeded');
});
afterAll(() => world?.[Symbol.asyncDispose]());

type Ask = Record<string, unknown>;
const NO_ID = `el_00${'a'.repeat(43)}`;

/** A payment of `tracker` that Stripe has taken: 24.90 euro unless the terms say otherwise. */
async function paid(ask = paymentOf()) {
  const person = await paidPerson(world, ask);
  const session = sessionOf(world.stripe, person.elicitationId);
  const { payment_intent: intent } = world.stripe.checkoutSession(session.id);
  if (intent === null) throw new Error('Stripe has taken nothing');
  const path = `/v1/payments/${person.elicitationId}`;
  return {
    person,
    intent,
    path,
    elicitationId: person.elicitationId,
    refund: (key: string, ask: Ask, replica = 0) =>
      world.apiOf({ replica }).call<RefundBody>('POST', `${path}/refunds`, ask, { 'idempotency-key': key }),
    read: async () => (await world.api.call<PaymentBody>('GET', path)).body,
    atStripe: () => world.stripe.refunds.filter(({ payment_intent }) => payment_intent === intent),
    /** Delivers the events of Stripe about this payment that were not delivered, to both replicas. */
    async deliver() {
      const events = world.stripe.events.filter(({ data }) => data.object['payment_intent'] === intent);
      return Promise.all(
        events.toReversed().map((event, nth) => world.stripe.deliver(webhookUrlOf(world, nth % 2), event)),
      );
    },
  };
}

/** Lets the background check of a replica run until every refund is settled. */
async function settled({ elicitationId, read }: Awaited<ReturnType<typeof paid>>): Promise<void> {
  await expect
    .poll(
      async () => {
        const { refunds } = await read();
        if (refunds.every(({ status }) => status === 'succeeded')) return true;
        await world.gateways[1]?.deps.stores.payments.checkLater(elicitationId as `el_${string}`, 'refunds', 0);
        return false;
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBe(true);
}

describe('S115, S116: refunds over the API', () => {
  it('S219: a payment that was paid back is redeemed no more, not even by a repeat; a part leaves it', async () => {
    const payment = await paid();
    const redeem = (key: string) => world.api.redeem(payment.elicitationId, { 'idempotency-key': key });
    await payment.refund('part', { minorUnits: 490, reason: 'Damaged' });
    const first = await redeem('first');
    expect(first.status).toBe(200);
    expect(await redeem('first')).toMatchObject({ status: 200, body: first.body });
    await payment.refund('rest', { minorUnits: 2000, reason: 'Lost' });
    for (const key of ['first', 'second']) {
      const refused = await redeem(key);
      expectInContract('redeemElicitation', refused);
      expectProblem(refused, 'payment_refunded');
    }
  });

  it('S219: a payment that was paid back before it was redeemed gives way to a new one', async () => {
    const payment = await paid();
    expect((await payment.person.askAgain()).body.elicitationId).toBe(payment.elicitationId);
    await payment.refund('all', { reason: 'Lost' });
    expectProblem(await world.api.redeem(payment.elicitationId, { 'idempotency-key': 'a' }), 'payment_refunded');
    const issued = await payment.person.askAgain();
    expect(issued.status).toBe(201);
    expect(issued.body.elicitationId).not.toBe(payment.elicitationId);
  });

  it('in parts and of the rest, each announced once', async () => {
    using listener = await listen(world.gateways[1]?.address ?? '', {
      apiKey: keyOf('tracker'),
      query: '?kind=payment',
    });
    const payment = await paid();
    expect(await payment.read()).toMatchObject({ status: 'paid', refundedMinorUnits: 0, refundableMinorUnits: 2490 });
    const part = await payment.refund('part', { minorUnits: 490, reason: 'Damaged' });
    expectInContract('refundPayment', part);
    expect(part).toMatchObject({ status: 201, body: { status: 'succeeded', minorUnits: 490, reason: 'Damaged' } });
    expect(await payment.read()).toMatchObject({ status: 'partially_refunded', refundableMinorUnits: 2000 });
    expect((await payment.refund('part', { minorUnits: 490, reason: 'Damaged' }, 1)).body).toEqual(part.body);
    expect((await payment.refund('rest', { reason: 'Cancelled' })).body).toMatchObject({ minorUnits: 2000 });
    const read = await world.api.call<PaymentBody>('GET', payment.path);
    expectInContract('readPayment', read);
    expect(read.body).toMatchObject({ status: 'refunded', mode: 'test', processorReference: payment.intent });
    expect(payment.atStripe().map(({ amount }) => amount)).toEqual([490, 2000]);
    expect((await payment.person.read()).status).toBe('completed');
    const own = () =>
      listener.heard.filter(
        ({ type, data }) => type.startsWith('payment.') && data['elicitationId'] === payment.elicitationId,
      );
    await listener.until(() => own().length === 2);
    expect(own().map(({ type }) => type)).toEqual(['payment.refunded', 'payment.refunded']);
    expect(new Set(own().map(({ data }) => data['eventId'])).size).toBe(2);
    const audited = auditOf(world, payment.elicitationId).map(({ event }) => event);
    expect(audited.filter(event => event.startsWith('payment.'))).toEqual([
      ...['payment.refund_requested', 'payment.refunded', 'payment.refund_requested', 'payment.refunded'],
    ]);
  });

  it('S167: and the person sees at the end, on the receipt and in the history what came back, and a dispute, also at another replica', async () => {
    const payment = await paid();
    const { page, raw } = payment.person;
    const shown = async () => {
      for (const path of [page, `${page}/receipt`]) {
        const { status, body } = await raw.get(path);
        expect(status).toBe(200);
        const text = body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
        pages.push([
          /Paid back €\s?([\d.]+)/.exec(text)?.[1],
          /Dispute at your bank ([A-Z][a-z ]*[a-z])/.exec(text)?.[1],
        ]);
      }
      return pages.splice(0);
    };
    const pages: (readonly (string | undefined)[])[] = [];
    /** Amount and status of each refund, on each page, which also has the time. */
    const refundsShown = () =>
      Promise.all(
        [page, `${page}/receipt`, '/me/history'].map(async path => {
          const text = (await raw.get(path)).body.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
          const found = text.matchAll(
            /€\s?([\d.]+) (paid back|is on its way|failed), requested [A-Z][a-z]+ \d+, \d{4}/g,
          );
          return Array.from(found, ([, amount, status]) => [amount, status]);
        }),
      );
    expect(await shown()).toEqual([0, 0].map(() => [undefined, undefined]));
    expect(await refundsShown()).toEqual([[], [], []]);
    await payment.refund('part', { minorUnits: 490, reason: 'Damaged' }, 1);
    expect(await shown()).toEqual([0, 0].map(() => ['4.90', undefined]));
    world.stripe.refundsBeginAs('pending');
    await payment.refund('further', { minorUnits: 100, reason: 'Late' });
    expect(await refundsShown()).toEqual(
      [0, 0, 0].map(() => [
        ['4.90', 'paid back'],
        ['1.00', 'is on its way'],
      ]),
    );
    world.stripe.settleRefund(payment.atStripe()[1]?.id ?? '', 'failed');
    await payment.deliver();
    expect(await refundsShown()).toEqual(
      [0, 0, 0].map(() => [
        ['4.90', 'paid back'],
        ['1.00', 'failed'],
      ]),
    );
    const history = async (query = '') => {
      const { status, body } = await raw.get(`/me/history${query}`);
      return { status, text: body.replace(/<[^>]*>/g, '').replace(/\s+/g, ' '), links: body.includes(`href="${page}`) };
    };
    expect(await history()).toMatchObject({ links: true, text: expect.not.stringContaining('Earlier payments') });
    expect(await history('?page=2')).toMatchObject({ status: 200, text: expect.not.stringContaining('24.90') });
    for (const wrong of ['0', '51', '1.5', 'x', '1&page=2'])
      expect([wrong, (await history(`?page=${wrong}`)).status]).toEqual([wrong, 400]);
    world.stripe.dispute(payment.intent, 'needs_response');
    await payment.deliver();
    expect((await shown()).map(([, dispute]) => dispute?.startsWith('Not decided yet'))).toEqual([true, true]);
    world.stripe.dispute(payment.intent, 'lost');
    await payment.deliver();
    expect((await shown()).map(([, dispute]) => dispute?.startsWith('Decided for you'))).toEqual([true, true]);
    // The payment outlives its elicitation, in the history as well.
    await expireRecord(world, payment.elicitationId);
    const later = await history();
    expect(later).toMatchObject({ status: 200, links: false });
    expect(later.text).toMatch(/Earlier payments.*Paid: .?€24\.90.*€4\.90.* paid back/);
  });

  it('of a currency without decimals', async () => {
    const payment = await paid(paymentOf({ amount: { currency: 'JPY', minorUnits: 1050 }, items: undefined }));
    expect((await payment.refund('k', { minorUnits: 50, reason: 'r' })).body).toMatchObject({ minorUnits: 50 });
    expect(payment.atStripe()).toMatchObject([{ amount: 50, currency: 'jpy' }]);
  });

  it.each<[string, Ask, ProblemCode]>([
    ['a negative amount', { minorUnits: -1, reason: 'r' }, 'invalid_request'],
    ['no amount', { minorUnits: 0, reason: 'r' }, 'invalid_request'],
    ['a fraction', { minorUnits: 1.5, reason: 'r' }, 'invalid_request'],
    ['an amount as text', { minorUnits: '100', reason: 'r' }, 'invalid_request'],
    ['a huge amount', { minorUnits: 1e300, reason: 'r' }, 'invalid_request'],
    ['more than was paid', { minorUnits: 2491, reason: 'r' }, 'refund_exceeds_payment'],
    ['a currency', { minorUnits: 100, currency: 'JPY', reason: 'r' }, 'invalid_request'],
    ['no reason', { minorUnits: 100 }, 'invalid_request'],
  ])('refuses %s', async (_, ask, code) => {
    const payment = await paid();
    const answer = await payment.refund('key', ask);
    expectInContract('refundPayment', answer);
    expectProblem(answer, code);
    expect(payment.atStripe()).toEqual([]);
  });

  it('refuses a request without a key, another request under its key, and what others own', async () => {
    const payment = await paid();
    const ask = { minorUnits: 100, reason: 'r' };
    expectProblem(await world.api.call('POST', `${payment.path}/refunds`, ask), 'invalid_request');
    await payment.refund('key', ask);
    expectProblem(await payment.refund('key', { ...ask, minorUnits: 101 }), 'idempotency_key_reused');
    const stranger = world.apiOf({ apiKey: keyOf('another') });
    const answers = await Promise.all(
      [payment.path, `/v1/payments/${NO_ID}`, '/v1/payments/el_no'].flatMap(path => [
        stranger.call<{ requestId: string }>('GET', path),
        stranger.call<{ requestId: string }>('POST', `${path}/refunds`, ask, { 'idempotency-key': 'key' }),
      ]),
    );
    const bodies = answers.map(answer => ({ ...answer.body, requestId: '' }));
    for (const answer of answers) expectProblem(answer, 'not_found');
    expect(new Set(bodies.map(body => JSON.stringify(body))).size).toBe(1);
    expect(payment.atStripe()).toHaveLength(1);
  });

  it('refuses a refund before the payment', async () => {
    const person = await askPerson(world);
    await person.approve();
    const path = `/v1/payments/${person.elicitationId}`;
    expect((await world.api.call('GET', path)).body).toMatchObject({ status: 'not_paid', refundableMinorUnits: 0 });
    const answer = await world.api.call('POST', `${path}/refunds`, { reason: 'r' }, { 'idempotency-key': 'key' });
    expectProblem(answer, 'payment_not_paid');
  });

  it('races over two replicas pay back no more than was paid', async () => {
    const payment = await paid();
    const ask = { minorUnits: 500, reason: 'r' };
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => payment.refund(`key-${n % 6}`, ask, n % 2)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 422]));
    await settled(payment);
    expect(payment.atStripe().map(({ amount }) => amount)).toEqual([500, 500, 500, 500]);
  });

  it.each([
    ['breaks before the effect', { loseAnswer: 'before' }],
    ['breaks after the effect', { loseAnswer: 'after' }],
    ['fails', { status: 500 }],
    ['fails, and repeats this failure', { status: 500, isStored: true }],
    ['is not JSON', { body: '<html>' }],
    ['is about something else', { body: '{"object":"refund","id":"re_1"}' }],
    ['is a rate limit', { status: 429 }],
    ['is a refused key', { status: 401 }],
  ] as const)('a response of Stripe that %s is settled in the background, by one refund', async (_, does) => {
    const payment = await paid();
    world.stripe.fault({ kind: 'refund', does });
    const { body } = await payment.refund('key', { minorUnits: 500, reason: 'r' });
    expect(body.status).toBe('pending');
    await settled(payment);
    expect(payment.atStripe()).toHaveLength(1);
    expect((await payment.refund('key', { minorUnits: 500, reason: 'r' })).body).toMatchObject({
      status: 'succeeded',
      refundId: body.refundId,
    });
  });

  it('a repeat after Stripe has forgotten its keys makes no second refund', async () => {
    const payment = await paid();
    world.stripe.loseAnswer('refund', 'after');
    await payment.refund('key', { minorUnits: 500, reason: 'r' });
    world.stripe.forgetKeys();
    expect((await payment.refund('key', { minorUnits: 500, reason: 'r' })).body.status).toBe('succeeded');
    expect(payment.atStripe()).toHaveLength(1);
  });
});

describe('S117: refunds and disputes at Stripe', () => {
  it('a refund in the dashboard, delivered twice and in reverse to two replicas', async () => {
    const payment = await paid();
    world.stripe.refundInDashboard(payment.intent, 1000);
    for (let n = 0; n < 2; n += 1) expect(new Set(await payment.deliver())).toEqual(new Set([204]));
    expect(await payment.read()).toMatchObject({
      status: 'partially_refunded',
      refundableMinorUnits: 1490,
      refunds: [{ requestedBy: 'processor', minorUnits: 1000, status: 'succeeded' }],
    });
    const events = auditOf(world, payment.elicitationId).filter(({ event }) => event === 'payment.refunded');
    expect(events).toHaveLength(1);
    expect((await payment.person.read()).status).toBe('completed');
  });

  it('S219: a refund that begins pending and fails frees its amount, and the payment is redeemed only then', async () => {
    const payment = await paid();
    world.stripe.refundsBeginAs('pending');
    expect((await payment.refund('key', { reason: 'r' })).body).toMatchObject({ status: 'pending' });
    expectProblem(await payment.refund('another', { minorUnits: 1, reason: 'r' }), 'refund_exceeds_payment');
    const redeem = () => world.api.redeem(payment.elicitationId, { 'idempotency-key': 'key' });
    expectProblem(await redeem(), 'payment_in_progress');
    world.stripe.settleRefund(payment.atStripe()[0]?.id ?? '', 'failed');
    await payment.deliver();
    expect(await payment.read()).toMatchObject({
      status: 'paid',
      refundableMinorUnits: 2490,
      refunds: [{ status: 'failed', failure: { processorCode: 'expired_or_canceled_card' } }],
    });
    expect((await redeem()).status).toBe(200);
  });

  it('a dispute of a refunded payment, and a refund of a disputed one', async () => {
    const payment = await paid();
    await payment.refund('key', { minorUnits: 500, reason: 'r' });
    world.stripe.dispute(payment.intent, 'needs_response');
    await payment.deliver();
    expect(await payment.read()).toMatchObject({
      status: 'partially_refunded',
      refundableMinorUnits: 1990,
      disputes: [{ status: 'open', minorUnits: 2490 }],
    });
    expectProblem(await payment.refund('another', { reason: 'r' }), 'payment_disputed');
    world.stripe.dispute(payment.intent, 'won');
    await payment.deliver();
    expect((await payment.read()).disputes).toMatchObject([{ status: 'won' }]);
    expect((await payment.refund('another', { reason: 'r' })).body.status).toBe('succeeded');
    expect((await payment.person.read()).status).toBe('completed');
  });

  it('a dispute that the gateway does not know yet: Stripe refuses the refund, which has failed', async () => {
    const payment = await paid();
    world.stripe.dispute(payment.intent, 'needs_response');
    expect((await payment.refund('key', { reason: 'r' })).body).toMatchObject({
      status: 'failed',
      failure: { processorCode: 'charge_disputed' },
    });
    expect((await payment.read()).refundableMinorUnits).toBe(2490);
  });
});
