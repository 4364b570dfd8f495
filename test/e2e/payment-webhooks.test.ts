import { inFull } from '@postern/testkit/in-full';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AskedPerson, askPerson, auditOf, movesOf, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {}, replicas: 2 });
});
afterEach(() => world.stripe.clearFaults());
afterAll(() => world?.[Symbol.asyncDispose]());

type StripeEvent = PayingWorld['stripe']['events'][number];
type Sent = Pick<RequestInit, 'body' | 'headers'>;

const post = async (sent: Sent, replica = 0): Promise<number> => {
  const answer = await fetch(webhookUrlOf(world, replica), { method: 'POST', ...sent });
  await answer.body?.cancel();
  return answer.status;
};
const call = (event: StripeEvent, replica = 0) => post(world.stripe.signed(event), replica);
const eventsOf = ({ elicitationId }: AskedPerson) =>
  world.stripe.checkoutSessionsOf(elicitationId).flatMap(({ id }) => world.stripe.eventsOf(id));
const refundsOf = ({ elicitationId }: AskedPerson) =>
  auditOf(world, elicitationId).filter(({ event }) => event === 'payment.refund_needed');

async function atStripe() {
  const person = await askPerson(world);
  expect((await person.approve()).status).toBe(303);
  return { person, session: sessionOf(world.stripe, person.elicitationId) };
}

async function paid() {
  const { person, session } = await atStripe();
  world.stripe.pay(session.id);
  const [event] = eventsOf(person);
  if (event === undefined) throw new Error('Stripe says nothing');
  return { person, session, event };
}

const completedOnce = ['elicitation.issued', 'elicitation.approved', 'elicitation.charged', 'elicitation.completed'];

async function expectPaidOnce(person: AskedPerson): Promise<void> {
  const [charge, ...others] = world.stripe.chargesOf(person.elicitationId);
  expect(others).toEqual([]);
  expect(await person.read()).toMatchObject({
    status: 'completed',
    outcome: { kind: 'payment', processorReference: charge?.paymentIntentId },
  });
  expect(movesOf(world, person.elicitationId).filter(event => event !== 'elicitation.redeemed')).toEqual(completedOnce);
  expect(refundsOf(person)).toEqual([]);
}

describe('S37, T32: a webhook from Stripe triggers a status request and ends the payment once', () => {
  it('a webhook before the return page', async () => {
    const { person, event } = await paid();
    expect(await call(event)).toBe(204);
    await expectPaidOnce(person);
    expect(await person.comeBack()).toMatchObject({ status: 303, location: person.page });
    await expectPaidOnce(person);
  });

  it('a webhook after the return page, and twenty repeats over two replicas', async () => {
    const { person, event } = await paid();
    await person.comeBack();
    await expectPaidOnce(person);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => call(event, n % 2)));
    expect(new Set(answers)).toEqual(new Set([204]));
    await expectPaidOnce(person);
  });

  it('twenty concurrent webhooks together with the return page', async () => {
    const { person, event } = await paid();
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, n) => call(event, n % 2)),
      ...Array.from({ length: 5 }, () => person.comeBack().then(({ status }) => status)),
    ]);
    expect(answers.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 204));
    expect(answers.slice(20)).toEqual(Array.from({ length: 5 }, () => 303));
    await expectPaidOnce(person);
    const receipt = await world.api.redeem(person.elicitationId);
    expect(receipt.body.receipt).toMatch(/^ey/);
    expect(await call(event)).toBe(204);
    await expectPaidOnce(person);
  });

  it('a webhook before the charge is recorded, because the response was lost', async () => {
    const person = await askPerson(world);
    world.stripe.loseAnswer('create', 'after');
    expect((await person.approve()).status).toBe(303);
    const { id } = sessionOf(world.stripe, person.elicitationId);
    world.stripe.pay(id);
    const [event] = eventsOf(person);
    expect(event && (await call(event))).toBe(204);
    await expectPaidOnce(person);
  });

  it('webhooks in any order: those of an earlier attempt do not change the next one', async () => {
    const { person, session } = await atStripe();
    world.stripe.expire(session.id);
    const [expired] = eventsOf(person);
    if (expired === undefined) throw new Error('Stripe says nothing');
    expect(await call(expired)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'pending' });
    await person.approve();
    const [, second] = world.stripe.checkoutSessionsOf(person.elicitationId);
    expect(await call(expired, 1)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'active' });
    world.stripe.pay(second?.id ?? '');
    const completed = eventsOf(person).at(-1);
    expect(completed && (await call(completed))).toBe(204);
    expect(await call(expired)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'completed' });
    expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
    expect(refundsOf(person)).toEqual([]);
  });

  it('a delayed payment: the page says so, and the final webhook may arrive first', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, { settles: 'later' });
    expect((await person.comeBack()).status).toBe(200);
    expect(await person.read()).toMatchObject({ status: 'active' });
    world.stripe.settleLater(session.id, 'succeeded');
    for (const event of [...eventsOf(person)].reverse()) expect(await call(event)).toBe(204);
    await expectPaidOnce(person);
  });

  it('a delayed payment that fails leaves the payment open for another attempt', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, { settles: 'later' });
    world.stripe.settleLater(session.id, 'failed');
    for (const event of eventsOf(person)) expect(await call(event)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'pending' });
    expect((await person.approve()).status).toBe(303);
    const [, second] = world.stripe.checkoutSessionsOf(person.elicitationId);
    world.stripe.pay(second?.id ?? '');
    await person.comeBack();
    expect(await person.read()).toMatchObject({ status: 'completed' });
    expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
  });

  it('answers 503 while Stripe’s API is down, so that Stripe retries', async () => {
    const { person, event } = await paid();
    world.stripe.fault({ kind: 'retrieve', times: 1, does: { status: 500 } });
    const answer = await fetch(webhookUrlOf(world), { method: 'POST', ...world.stripe.signed(event) });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await person.read()).toMatchObject({ status: 'active' });
    expect(await call(event)).toBe(204);
    await expectPaidOnce(person);
  });

  it('ignores a payment status that contradicts Stripe’s API', async () => {
    const { person, session } = await atStripe();
    const lie = world.stripe.happenElsewhere('checkout.session.completed', { ...session, payment_status: 'paid' });
    expect(await call(lie)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'active' });
  });
});

describe('T32: forged webhooks', () => {
  it.each([
    ['signed with another secret', (event: StripeEvent) => world.stripe.signed(event, { secrets: ['whsec_other'] })],
    ['signed ten minutes ago', (event: StripeEvent) => world.stripe.signed(event, { at: Date.now() - 600_000 })],
    ['not signed', (event: StripeEvent) => ({ body: world.stripe.signed(event).body, headers: {} })],
    [
      'about another session than was signed',
      (event: StripeEvent) => {
        const { body, headers } = world.stripe.signed(event);
        return { body: Buffer.from(body).toString().replace('cs_test_', 'cs_test_0'), headers };
      },
    ],
  ])('%s: gets 401 without a request to Stripe and changes nothing', async (_, sent) => {
    const { person, event } = await paid();
    const asked = world.stripe.requests().length;
    const before = movesOf(world, person.elicitationId);
    expect(await post(sent(event) as Sent)).toBe(401);
    expect(world.stripe.requests()).toHaveLength(asked);
    expect(movesOf(world, person.elicitationId)).toEqual(before);
    expect(world.log()).toContain('"payment.webhook_refused"');
    await person.comeBack();
    await expectPaidOnce(person);
  });

  it('an unknown processor gets 404', async () => {
    const { event } = await paid();
    const answer = await fetch(webhookUrlOf(world).replace('stripe-main', 'stripe-other'), {
      method: 'POST',
      ...world.stripe.signed(event),
    });
    expect(answer.status).toBe(404);
  });
});

describe('S37: a paid charge without a completed elicitation', () => {
  it('S68: of an elicitation that ended unpaid gets 204 and is reported once', async () => {
    const person = await askPerson(world);
    // A charge exists to which the user was never redirected; then Stripe refuses it.
    world.stripe.loseAnswer('create', 'after');
    await person.approve();
    world.stripe.fault({ kind: 'create', does: { status: 402 } });
    await person.press('charge');
    expect(await person.read()).toMatchObject({ status: 'failed', failure: { code: 'processor_refused' } });
    const ended = await person.read();
    const { id } = sessionOf(world.stripe, person.elicitationId);
    world.stripe.pay(id);
    const [event] = eventsOf(person);
    if (event === undefined) throw new Error('Stripe says nothing');
    for (let n = 1; n <= 3; n += 1) {
      expect(await call(event, n % 2)).toBe(204);
      expect(refundsOf(person)).toHaveLength(1);
    }
    const [charge] = world.stripe.chargesOf(person.elicitationId);
    for (const line of refundsOf(person))
      expect(line).toMatchObject({ processorReference: charge?.paymentIntentId, reason: 'failed' });
    expect(await person.read()).toEqual(ended);
  });

  inFull.it('S68: of another gateway on the same account gets 204 and is not reported', async () => {
    const { person, session } = await atStripe();
    const unknown = `${person.elicitationId.slice(0, -4)}BBBB`;
    world.stripe.pay(session.id);
    for (const metadata of [
      { ...session.metadata, gateway: 'staging.example', elicitationId: unknown },
      { elicitationId: unknown },
    ]) {
      const event = world.stripe.happenElsewhere('checkout.session.completed', { ...session, metadata });
      expect(await call(event)).toBe(204);
    }
    expect(auditOf(world, unknown)).toEqual([]);
  });

  it('of an unknown elicitation is reported', async () => {
    const { person, session } = await atStripe();
    const unknown = `${person.elicitationId.slice(0, -4)}AAAA`;
    world.stripe.pay(session.id);
    const event = world.stripe.happenElsewhere('checkout.session.completed', {
      ...session,
      metadata: { ...session.metadata, elicitationId: unknown },
    });
    expect(await call(event)).toBe(204);
    const reported = auditOf(world, unknown).filter(line => line.event === 'payment.refund_needed');
    expect(reported).toMatchObject([{ reason: 'unknown_elicitation' }]);
  });

  it.each([
    ['less', { amount: 1 }],
    ['more', { amount: 2_491 }],
    ['in another currency', { currency: 'usd' }],
  ])('S36: fails and is reported once if %s was paid than approved', async (_, took) => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, took);
    const [event] = eventsOf(person);
    if (event === undefined) throw new Error('Stripe says nothing');
    expect(await call(event)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'failed', failure: { code: 'payment_mismatch' } });
    expect(refundsOf(person)).toMatchObject([{ reason: 'mismatch' }]);
    expect(await call(event)).toBe(204);
    expect(refundsOf(person)).toHaveLength(1);
    expect((await person.raw.get(person.page)).status).toBe(200);
    expect(await world.api.redeem(person.elicitationId)).toMatchObject({
      status: 409,
      body: { code: 'not_redeemable' },
    });
  });

  it('S36: is found by the return page as well', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, { amount: 1 });
    expect((await person.comeBack()).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'failed', failure: { code: 'payment_mismatch' } });
    expect(refundsOf(person)).toMatchObject([{ reason: 'mismatch' }]);
  });

  it('an event about a foreign object changes nothing', async () => {
    const { person } = await atStripe();
    const event = world.stripe.happenElsewhere('payment_intent.succeeded', {
      id: 'pi_foreign',
      object: 'payment_intent',
    });
    expect(await call(event)).toBe(204);
    expect(await person.read()).toMatchObject({ status: 'active' });
    expect(refundsOf(person)).toEqual([]);
  });
});
