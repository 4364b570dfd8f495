import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AskedPerson, askPerson, movesOf, payLinkIn, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const TTL_SECONDS = 60;
/** Longer than the back-off after a missing response of the processor. */
const ASKED_AGAIN_SECONDS = 31;
/** Test timeout; a waiting read that misses its wake-up exceeds it. */
const SWEPT_MS = 150_000;

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {}, sweepPauseMs: 20 });
});
afterEach(() => {
  world.stripe.clearFaults();
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

async function atStripe(more: { readonly ttlSeconds?: number } = {}) {
  const person = await askPerson(world, undefined, more);
  await person.approve();
  return { person, session: sessionOf(world.stripe, person.elicitationId) };
}
const statusOf = async (person: AskedPerson) => (await person.read()).status;
/** Resolves when the gateway has ended it without a request. */
const ended = async ({ elicitationId }: AskedPerson) => (await world.api.read(elicitationId, 50)).body;
const requestsAbout = (id: string, kind: 'expire' | 'retrieve') =>
  world.stripe.requests(kind).filter(({ path }) => path.includes(id)).length;
const chargesOf = ({ elicitationId }: AskedPerson) => world.stripe.chargesOf(elicitationId);

describe('S86: a paid charge without a return or a webhook', () => {
  it('is found by a check before expiry', { timeout: SWEPT_MS }, async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id);
    expect(await statusOf(person)).toBe('active');
    world.clock.pass(ASKED_AGAIN_SECONDS);
    expect(await ended(person)).toMatchObject({ status: 'completed' });
    expect(requestsAbout(session.id, 'expire')).toBe(0);
    expect(chargesOf(person)).toHaveLength(1);
  });
});

describe('S40: an approved payment that expires', () => {
  it('is closed at the processor first and then cannot be paid', { timeout: SWEPT_MS }, async () => {
    const { person, session } = await atStripe({ ttlSeconds: TTL_SECONDS });
    const closing = world.stripe.hold('expire', 'before');
    world.clock.pass(TTL_SECONDS);
    await closing.reached;
    // It can still be paid until the processor confirms the closing, so the outcome stays open.
    expect(await statusOf(person)).toBe('active');
    expect(payLinkIn(await person.raw.get(person.page))).toContain(session.id);
    closing.release();
    expect(await ended(person)).toMatchObject({ status: 'expired' });
    expect(world.stripe.pay(session.id)).toBe('not_open');
    expect(chargesOf(person)).toEqual([]);
    expect(movesOf(world, person.elicitationId).at(-1)).toBe('elicitation.expired');
  });

  it('completes if it is paid at the last moment', { timeout: SWEPT_MS }, async () => {
    const { person, session } = await atStripe({ ttlSeconds: TTL_SECONDS });
    const closing = world.stripe.hold('expire', 'before');
    world.clock.pass(TTL_SECONDS);
    await closing.reached;
    world.stripe.pay(session.id);
    closing.release();
    expect(await ended(person)).toMatchObject({ status: 'completed' });
    expect(chargesOf(person)).toHaveLength(1);
    expect(movesOf(world, person.elicitationId)).not.toContain('elicitation.expired');
    expect((await world.api.redeem(person.elicitationId)).body.receipt).toMatch(/^ey/);
  });

  it('stays open while Stripe is down and later ends with the status at Stripe', {
    timeout: 2 * SWEPT_MS,
  }, async () => {
    const more = { ttlSeconds: TTL_SECONDS };
    const [paid, unpaid, underWay] = [await atStripe(more), await atStripe(more), await atStripe(more)];
    const all = [paid, unpaid, underWay];
    world.stripe.fault({ kind: 'expire', times: 1000, does: { loseAnswer: 'before' } });
    world.stripe.fault({ kind: 'retrieve', times: 1000, does: { loseAnswer: 'before' } });
    world.clock.pass(TTL_SECONDS);
    for (const { session } of all)
      await expect.poll(() => requestsAbout(session.id, 'expire'), { timeout: SWEPT_MS }).toBeGreaterThan(0);
    for (const { person } of all) expect(await statusOf(person)).toBe('active');
    world.stripe.pay(paid.session.id);
    world.stripe.pay(underWay.session.id, { settles: 'later' });
    world.stripe.clearFaults();
    world.clock.pass(ASKED_AGAIN_SECONDS);
    expect(await ended(paid.person)).toMatchObject({ status: 'completed' });
    expect(await ended(unpaid.person)).toMatchObject({ status: 'expired' });
    await expect.poll(() => requestsAbout(underWay.session.id, 'retrieve'), { timeout: SWEPT_MS }).toBeGreaterThan(0);
    expect(await statusOf(underWay.person)).toBe('active');
    world.stripe.settleLater(underWay.session.id, 'succeeded');
    expect((await underWay.person.comeBack()).status).toBe(303);
    expect(await statusOf(underWay.person)).toBe('completed');
    expect(all.map(({ person }) => chargesOf(person).length)).toEqual([1, 0, 1]);
    for (const { session } of all) expect(world.stripe.pay(session.id)).toBe('not_open');
  });

  it('S91: stays open while Stripe processes the payment and ends with the status at Stripe', {
    timeout: 2 * SWEPT_MS,
  }, async () => {
    const [paid, unpaid] = [await atStripe({ ttlSeconds: TTL_SECONDS }), await atStripe({ ttlSeconds: TTL_SECONDS })];
    const both = [paid, unpaid];
    for (const { session } of both) world.stripe.attempt(session.id, 'in_progress');
    world.clock.pass(TTL_SECONDS);
    // The gateway asks for the status of the session after Stripe refused to expire it.
    for (const { session } of both)
      await expect.poll(() => requestsAbout(session.id, 'retrieve'), { timeout: SWEPT_MS }).toBeGreaterThan(0);
    for (const { person } of both) expect(await statusOf(person)).toBe('active');
    world.stripe.pay(paid.session.id);
    world.stripe.attempt(unpaid.session.id, 'declined');
    world.clock.pass(ASKED_AGAIN_SECONDS);
    expect(await ended(paid.person)).toMatchObject({ status: 'completed' });
    expect(await ended(unpaid.person)).toMatchObject({ status: 'expired' });
    expect(both.map(({ person }) => chargesOf(person).length)).toEqual([1, 0]);
    expect(world.stripe.pay(unpaid.session.id)).toBe('not_open');
  });

  it('is closed by a retry if the response about closing is lost', { timeout: 2 * SWEPT_MS }, async () => {
    const { person, session } = await atStripe({ ttlSeconds: TTL_SECONDS });
    world.stripe.loseAnswer('expire', 'after');
    world.clock.pass(TTL_SECONDS);
    await expect.poll(() => requestsAbout(session.id, 'expire'), { timeout: SWEPT_MS }).toBe(1);
    world.clock.pass(ASKED_AGAIN_SECONDS);
    expect(await ended(person)).toMatchObject({ status: 'expired' });
    expect(chargesOf(person)).toEqual([]);
  });

  it('expires without a charge if the user was never redirected to the processor', {
    timeout: SWEPT_MS,
  }, async () => {
    const person = await askPerson(world, undefined, { ttlSeconds: TTL_SECONDS });
    world.stripe.loseAnswer('create', 'before');
    await person.approve();
    expect(world.stripe.checkoutSessionsOf(person.elicitationId)).toEqual([]);
    world.clock.pass(TTL_SECONDS);
    expect(await ended(person)).toMatchObject({ status: 'expired' });
    for (const { id } of world.stripe.checkoutSessionsOf(person.elicitationId))
      expect(world.stripe.pay(id)).toBe('not_open');
  });

  it('expires if the user returns unpaid after expiry', async () => {
    const { person, session } = await atStripe({ ttlSeconds: TTL_SECONDS });
    world.stripe.expire(session.id);
    world.clock.pass(TTL_SECONDS);
    expect((await person.comeBack()).status).toBe(303);
    expect(await statusOf(person)).toBe('expired');
  });
});

describe('S40: declining a payment with an open charge', () => {
  it('closes it at the processor first', async () => {
    const { person, session } = await atStripe();
    expect((await person.press('decline')).status).toBe(303);
    expect(await statusOf(person)).toBe('declined');
    expect(requestsAbout(session.id, 'expire')).toBe(1);
    expect(world.stripe.pay(session.id)).toBe('not_open');
    expect(movesOf(world, person.elicitationId).slice(-1)).toEqual(['elicitation.declined']);
  });

  it('completes if a second tab pays during the decline', async () => {
    const { person, session } = await atStripe();
    const closing = world.stripe.hold('expire', 'before');
    const declined = person.press('decline');
    await closing.reached;
    world.stripe.pay(session.id);
    closing.release();
    expect((await declined).status).toBe(303);
    expect(await statusOf(person)).toBe('completed');
    expect(chargesOf(person)).toHaveLength(1);
  });

  it('completes if a second tab returns paid during the decline, which then changes nothing', async () => {
    const { person, session } = await atStripe();
    const closing = world.stripe.hold('expire', 'before');
    const declined = person.press('decline');
    await closing.reached;
    world.stripe.pay(session.id);
    await person.comeBack();
    const completed = await person.read();
    expect(completed.status).toBe('completed');
    closing.release();
    expect((await declined).status).toBe(303);
    expect(await person.read()).toEqual(completed);
  });

  it('leaves nothing to pay if another tab opens the processor at the same time', async () => {
    const { person, session } = await atStripe();
    const form = { csrf_token: await person.raw.csrfToken(person.elicitationId) };
    const press = (verb: string) => person.raw.post(`${person.page}/${verb}`, { form });
    const answers = await Promise.all(['decline', 'charge', 'decline', 'charge', 'decline'].map(press));
    for (const { status } of answers) expect(status).toBe(303);
    expect(await statusOf(person)).toBe('declined');
    expect(sessionOf(world.stripe, person.elicitationId).id).toBe(session.id);
    expect(world.stripe.pay(session.id)).toBe('not_open');
  });

  it('is refused while the payment is processing, and the page shows the status', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, { settles: 'later' });
    expect((await person.press('decline')).status).toBe(303);
    expect(await statusOf(person)).toBe('active');
    world.stripe.settleLater(session.id, 'failed');
    expect((await person.press('decline')).status).toBe(303);
    expect(await statusOf(person)).toBe('declined');
    expect(chargesOf(person)).toEqual([]);
  });
});

describe('S40: cancelling a payment with an open charge', () => {
  const cancel = ({ elicitationId }: AskedPerson) => world.api.cancel(elicitationId);

  it('closes it at the processor first, and the page says that it was cancelled', async () => {
    const { person, session } = await atStripe();
    expect(await cancel(person)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(world.stripe.pay(session.id)).toBe('not_open');
    expect(payLinkIn(await person.raw.get(person.page))).toBeUndefined();
    expect(await cancel(person)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  });

  it('is refused if it was paid meanwhile, and the payment completes', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id);
    expect(await cancel(person)).toMatchObject({ status: 409, body: { code: 'already_ended' } });
    expect(await statusOf(person)).toBe('completed');
  });

  it('is refused while the payment is processing', async () => {
    const { person, session } = await atStripe();
    world.stripe.pay(session.id, { settles: 'later' });
    expect(await cancel(person)).toMatchObject({ status: 409, body: { code: 'payment_in_progress' } });
    world.stripe.settleLater(session.id, 'succeeded');
    expect(await cancel(person)).toMatchObject({ status: 409, body: { code: 'already_ended' } });
    expect(chargesOf(person)).toHaveLength(1);
  });

  it('is refused while Stripe is down, whether or not Stripe got the request', async () => {
    for (const when of ['before', 'after'] as const) {
      const { person, session } = await atStripe();
      world.stripe.loseAnswer('expire', when);
      expect(await cancel(person)).toMatchObject({ status: 502, body: { code: 'upstream_unavailable' } });
      expect(await statusOf(person)).toBe('active');
      expect(await cancel(person)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
      expect(world.stripe.pay(session.id)).toBe('not_open');
    }
  });

  it('has one outcome together with a concurrent decline and leaves nothing to pay', async () => {
    const { person, session } = await atStripe();
    const form = { csrf_token: await person.raw.csrfToken(person.elicitationId) };
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 2 === 0 ? cancel(person) : person.raw.post(`${person.page}/decline`, { form }),
      ),
    );
    const end = await person.read();
    expect(['cancelled', 'declined']).toContain(end.status);
    const ends = movesOf(world, person.elicitationId).filter(event =>
      /cancelled|declined|expired|completed/.test(event),
    );
    expect(ends).toEqual([`elicitation.${end.status}`]);
    expect(world.stripe.pay(session.id)).toBe('not_open');
  });
});

describe('T31, S37: repeating the ask of a payment', () => {
  it('gets the same elicitation and charge while it can be paid, even after expiry', async () => {
    const { person, session } = await atStripe({ ttlSeconds: TTL_SECONDS });
    const { elicitationId } = person;
    expect(await person.askAgain()).toMatchObject({ status: 200, body: { elicitationId, status: 'active' } });
    // The result at Stripe stays unknown indefinitely.
    world.stripe.fault({ kind: 'expire', times: 1000, does: { status: 503 } });
    for (const seconds of [TTL_SECONDS, 3600, 86_400]) {
      world.clock.pass(seconds);
      expect(await person.askAgain()).toMatchObject({ status: 200, body: { elicitationId, status: 'active' } });
    }
    world.stripe.clearFaults();
    // A day later the session expires at Stripe.
    expect(world.stripe.pay(session.id)).toBe('not_open');
    const [expired] = world.stripe.eventsOf(session.id);
    expect(expired && (await world.stripe.deliver(webhookUrlOf(world), expired))).toBe(204);
    expect(await statusOf(person)).toBe('expired');
    expect(await person.askAgain()).toMatchObject({ status: 201 });
  });

  it('gets the paid elicitation until it is redeemed, and then a new one', async () => {
    const { person, session } = await atStripe();
    const { elicitationId } = person;
    world.stripe.pay(session.id);
    await person.comeBack();
    for (let n = 0; n < 3; n += 1)
      expect(await person.askAgain()).toMatchObject({ status: 200, body: { elicitationId, status: 'completed' } });
    expect((await world.api.redeem(elicitationId)).status).toBe(200);
    const next = await person.askAgain();
    expect(next).toMatchObject({ status: 201, body: { status: 'pending' } });
    expect(next.body.elicitationId).not.toBe(elicitationId);
    expect(chargesOf(person)).toHaveLength(1);
  });

  it('starts a new elicitation after a decline', async () => {
    const { person } = await atStripe();
    await person.press('decline');
    const next = await person.askAgain();
    expect(next.status).toBe(201);
    expect(next.body.elicitationId).not.toBe(person.elicitationId);
  });
});
