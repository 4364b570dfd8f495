import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AskedPerson, askPerson, auditOf, payLinkIn, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

/** Another host than that of the API, as in production. */
const checkoutHost = 'checkout.stripe.com';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({
    payment: {},
    stripe: { checkoutHost },
    config: ({ base }): Partial<GatewayConfigInput> => ({
      processors: (base.processors ?? []).map(stripe => ({ ...stripe, checkoutHost })),
    }),
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

async function atStripe() {
  const person = await askPerson(world);
  await person.approve();
  return { person, session: sessionOf(world.stripe, person.elicitationId) };
}
const statusOf = async (person: AskedPerson) => (await person.read()).status;
const chargesOf = ({ elicitationId }: AskedPerson) => world.stripe.chargesOf(elicitationId);
const cancel = ({ elicitationId }: AskedPerson) => world.api.cancel(elicitationId);
const eventsOf = ({ elicitationId }: AskedPerson, event: string) =>
  auditOf(world, elicitationId).filter(line => line.event === event);

it('S37: the page redirects to the complete payment link on another host than the API', async () => {
  const { person, session } = await atStripe();
  const link = payLinkIn(await person.raw.get(person.page));
  expect(link).toBe(session.url);
  expect(link).toMatch(/^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_\w{58}#fid.{400,}$/);
  world.stripe.pay(session.id);
  expect((await person.comeBack()).status).toBe(303);
  expect(await statusOf(person)).toBe('completed');
});

describe.each(['declined', 'requires_action', 'in_progress'] as const)('S37, S91: the first attempt is %s', result => {
  it('a second attempt that is paid completes the payment once', async () => {
    const { person, session } = await atStripe();
    const link = payLinkIn(await person.raw.get(person.page));
    world.stripe.attempt(session.id, result);
    expect((await person.comeBack()).status).toBe(200);
    expect(await statusOf(person)).toBe('active');
    expect(payLinkIn(await person.raw.get(person.page))).toBe(link);
    world.stripe.pay(session.id);
    await person.comeBack();
    expect(await statusOf(person)).toBe('completed');
    expect(chargesOf(person)).toHaveLength(1);
    expect(eventsOf(person, 'payment.refund_needed')).toEqual([]);
  });

  it('its webhook is accepted and changes nothing', async () => {
    const { person, session } = await atStripe();
    world.stripe.attempt(session.id, result);
    const event = world.stripe.events.at(-1);
    if (event?.data.object['object'] !== 'payment_intent') throw new Error('Stripe omits the PaymentIntent');
    expect(await world.stripe.deliver(webhookUrlOf(world), event)).toBe(204);
    expect(await statusOf(person)).toBe('active');
  });
});

it.each(['declined', 'requires_action'] as const)(
  'S40: a payment that is cancelled or declined after an attempt that is %s cannot be paid',
  async result => {
    for (const end of ['cancelled', 'declined']) {
      const { person, session } = await atStripe();
      world.stripe.attempt(session.id, result);
      if (end === 'cancelled') expect(await cancel(person)).toMatchObject({ status: 200 });
      else await person.press('decline');
      expect(await statusOf(person)).toBe(end);
      expect(world.stripe.pay(session.id)).toBe('not_open');
    }
  },
);

describe('S91: Stripe processes the payment and does not expire the session', () => {
  async function whilePaying() {
    const { person, session } = await atStripe();
    world.stripe.attempt(session.id, 'in_progress');
    return { person, session };
  }

  it('cancel gets 409, and the log has the reason', async () => {
    const { person, session } = await whilePaying();
    const refused = { status: 409, body: { code: 'payment_in_progress' } };
    expect(await cancel(person)).toMatchObject(refused);
    expect(await statusOf(person)).toBe('active');
    expect(eventsOf(person, 'payment.not_closed')).toMatchObject([
      { processorCode: 'invalid_request_error', processorStatus: 400 },
    ]);
    expect(eventsOf(person, 'payment.processor_unavailable')).toEqual([]);
    world.stripe.pay(session.id);
    expect(await cancel(person)).toMatchObject({ status: 409, body: { code: 'already_ended' } });
    expect(await statusOf(person)).toBe('completed');
    expect(chargesOf(person)).toHaveLength(1);
  });

  it('after a refusal by the bank the payment is cancelled and cannot be paid', async () => {
    const { person, session } = await whilePaying();
    expect((await cancel(person)).status).toBe(409);
    world.stripe.attempt(session.id, 'declined');
    expect(await cancel(person)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(world.stripe.pay(session.id)).toBe('not_open');
  });

  it('a user who declines sees the current status and can decline again', async () => {
    const { person, session } = await whilePaying();
    const declined = await person.press('decline');
    expect(declined).toMatchObject({ status: 303, location: `${person.page}/charge` });
    expect((await person.comeBack()).status).toBe(200);
    expect(await statusOf(person)).toBe('active');
    world.stripe.attempt(session.id, 'declined');
    expect(await person.press('decline')).toMatchObject({ status: 303, location: person.page });
    expect(await statusOf(person)).toBe('declined');
  });
});
