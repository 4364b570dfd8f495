import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyRequest, deletion, deliveryForm, paymentOf, visitorFor } from '../support/asks.ts';
import { createMovingBrowser } from '../support/moving-browser.ts';
import { type AskedPerson, askPerson, movesOf, payLinkIn, sessionOf } from '../support/payment-person.ts';
import type { RawAnswer } from '../support/raw-browser.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const TTL_SECONDS = 60;
const AT_ONCE = 24;
const REPLICAS = 2;

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {}, replicas: REPLICAS });
});
afterEach(() => {
  world.stripe.clearFaults();
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Every kind that one press of the button answers, with its typed values. */
const answered = [
  { kind: 'confirmation', ask: () => ({ kind: 'confirmation', confirmation: deletion }) as const, typed: () => ({}) },
  { kind: 'payment without a processor', ask: () => paymentOf({ processor: 'none' }), typed: () => ({}) },
  { kind: 'payment by Stripe', ask: () => paymentOf(), typed: () => ({}) },
  {
    kind: 'credential',
    ask: () => ({ kind: 'credential', credential: apiKeyRequest }) as const,
    typed: (n: number) => ({ 'field.api_key': `ak_thenumber${n}` }),
  },
  {
    kind: 'form',
    ask: () => ({ kind: 'form', form: deliveryForm }) as const,
    typed: (n: number) => ({ 'field.name': `Name ${n}`, 'field.parcels': '2' }),
  },
] as const;
const approvals = answered.slice(0, 3);

const all = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));
const ends = ({ elicitationId }: AskedPerson) =>
  movesOf(world, elicitationId).filter(event =>
    /\.(approved|accepted|completed|declined|cancelled|expired|failed)$/.test(event),
  );

/** The form of the page, which tests post repeatedly. */
async function atTheButton(person: AskedPerson, raw = person.raw) {
  const form = await raw.acceptForm(person.elicitationId);
  const { csrf_token } = form as { csrf_token: string };
  return {
    form,
    accept: (typed: Readonly<Record<string, string>> = {}): Promise<RawAnswer> =>
      raw.post(`${person.page}/accept`, { form: { ...form, ...typed } }),
    decline: (): Promise<RawAnswer> => raw.post(`${person.page}/decline`, { form: { csrf_token } }),
  };
}

/** The same browser at any replica. */
async function everywhere(person: AskedPerson) {
  const { publicUrl, gateways } = world;
  return gateways.map(({ address }) => {
    const raw = createMovingBrowser({ addresses: [address], publicUrl }).at(0);
    for (const [name, value] of person.raw.cookies) raw.cookies.set(name, value);
    return raw;
  });
}

/** Expects exactly one result for all readers. */
async function expectOneResult(person: AskedPerson): Promise<void> {
  const { elicitationId } = person;
  if ((await person.read()).status === 'active') {
    expect(world.stripe.pay(sessionOf(world.stripe, elicitationId).id)).toBe('paid');
    await all(4, () => person.comeBack());
    expect(world.stripe.chargesOf(elicitationId)).toHaveLength(1);
  }
  expect((await person.read()).status).toBe('completed');
  const key = { 'idempotency-key': 'the-one' };
  const redeemed = await all(6, n => world.apiOf({ replica: n % REPLICAS }).redeem(elicitationId, key));
  expect(new Set(redeemed.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(redeemed.every(({ status }) => status === 200)).toBe(true);
  const moves = movesOf(world, elicitationId);
  expect(new Set(moves).size).toBe(moves.length);
}

describe('T31, S37: a repeated decision counts once', () => {
  it.each(answered)('$kind: after a double click, a reload or a back navigation', async ({ ask, typed }) => {
    const person = await askPerson(world, ask());
    const { accept } = await atTheButton(person);
    const [first, second] = await Promise.all([accept(typed(1)), accept(typed(1))]);
    for (const answer of [first, second, await accept(typed(1))])
      expect(answer).toMatchObject({ status: 303, location: person.page });
    const before = await person.read();
    // The history still contains the old form with its values.
    expect(await accept(typed(1))).toMatchObject({ status: 303, location: person.page });
    expect(await person.read()).toEqual(before);
    await expectOneResult(person);
    expect(await accept(typed(1))).toMatchObject({ status: 303, location: person.page });
    expect((await person.raw.get(person.page)).status).toBe(200);
  });

  it.each(answered)('$kind: in two tabs and a second browser of the same user', async ({ ask, typed }) => {
    const person = await askPerson(world, ask());
    const tab = await atTheButton(person);
    const sameBrowser = await atTheButton(person);
    const other = await atTheButton(person, await visitorFor(world, person.user, person.elicitationId));
    const tabs = [tab, sameBrowser, other];
    const answers = await all(AT_ONCE, n => (tabs[n % tabs.length] ?? tab).accept(typed(n)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 303, location: person.page });
    await expectOneResult(person);
  });

  it('lasting credential: one of the values typed in many tabs is stored and returned to every reader', async () => {
    const person = await askPerson(world, {
      kind: 'credential',
      credential: { ...apiKeyRequest, retention: 'lasting' },
    });
    const { accept } = await atTheButton(person);
    const typed = Array.from({ length: AT_ONCE }, (_, n) => `ak_lasting${n}`);
    const answers = await all(AT_ONCE, n => accept({ 'field.api_key': typed[n] ?? '' }));
    for (const answer of answers) expect(answer).toMatchObject({ status: 303, location: person.page });
    const { outcome } = await person.read();
    const read = await all(4, n => world.apiOf({ replica: n % REPLICAS }).credential(outcome?.credentialId ?? ''));
    expect(typed).toContain(read[0]?.body.values?.['api_key']);
    for (const { body } of read) expect(body).toEqual(read[0]?.body);
    expect(ends(person)).toEqual(['elicitation.completed']);
  });

  it('payment by Stripe: both tabs redirect to the same charge', async () => {
    const person = await askPerson(world);
    const browsers = await everywhere(person);
    await Promise.all(browsers.map(async raw => (await atTheButton(person, raw)).accept()));
    const { id } = sessionOf(world.stripe, person.elicitationId);
    const pages = await Promise.all(browsers.map(raw => raw.get(person.page)));
    expect(new Set(pages.map(payLinkIn))).toEqual(new Set([world.stripe.checkoutSession(id).url]));
  });
});

describe('T31, S40: one of concurrent accept and decline is final', () => {
  it.each(approvals)('$kind', async ({ ask }) => {
    for (let round = 0; round < 4; round += 1) {
      const person = await askPerson(world, ask());
      const browsers = await everywhere(person);
      const first = await atTheButton(person);
      const buttons = [first, ...(await Promise.all(browsers.slice(1).map(raw => atTheButton(person, raw))))];
      const answers = await all(AT_ONCE, n => {
        const { accept, decline } = buttons[n % REPLICAS] ?? first;
        return (n + round) % 4 < 2 ? accept() : decline();
      });
      for (const answer of answers) expect(answer).toMatchObject({ status: 303, location: person.page });
      const end = await person.read();
      // An approval that is then closed at the processor also counts as a decline, and nothing can be paid.
      expect(['completed', 'declined', 'active']).toContain(end.status);
      if (end.status === 'active') {
        expect((await person.press('decline')).status).toBe(303);
        expect((await person.read()).status).toBe('declined');
      }
      const final = await person.read();
      for (const { accept, decline } of buttons) {
        expect((await accept()).status).toBe(303);
        expect((await decline()).status).toBe(303);
      }
      expect(await person.read()).toEqual(final);
      for (const { id } of world.stripe.checkoutSessionsOf(person.elicitationId))
        expect(world.stripe.pay(id)).toBe('not_open');
      expect(world.stripe.chargesOf(person.elicitationId)).toEqual([]);
      const redeemed = await world.api.redeem(person.elicitationId);
      expect(redeemed.status).toBe(final.status === 'completed' ? 200 : 409);
      const said = ends(person);
      expect(new Set(said).size).toBe(said.length);
      if (end.status === 'completed') expect(said).toEqual(['elicitation.approved']);
    }
  });

  it.each(answered.slice(3))('$kind', async ({ ask, typed }) => {
    const person = await askPerson(world, ask());
    const { accept, decline } = await atTheButton(person);
    await all(AT_ONCE, n => (n % 2 === 0 ? accept(typed(n)) : decline()));
    const end = await person.read();
    expect(['completed', 'declined']).toContain(end.status);
    await accept(typed(1));
    await decline();
    expect(await person.read()).toEqual(end);
    expect((await world.api.redeem(person.elicitationId)).status).toBe(end.status === 'completed' ? 200 : 409);
  });
});

describe('T31, S40: accept and concurrent expiry never both take effect', () => {
  it.each(answered)('$kind: at every reading of the clock', async ({ kind, ask, typed }) => {
    const outcomes = new Set<string>();
    const person = { current: await askPerson(world, ask(), { ttlSeconds: TTL_SECONDS }) };
    for (let looks = 0; looks < (world.file === undefined ? 12 : 40); looks += 1) {
      const { accept, decline } = await atTheButton(person.current);
      world.clock.passAfter(looks, TTL_SECONDS);
      expect((await accept(typed(1))).status).toBe(303);
      world.clock.backToNow();
      world.clock.pass(TTL_SECONDS);
      // With the form of before: the sweep may end it meanwhile, and its page then has none.
      if ((await person.current.read()).status === 'active') await decline();
      const end = await person.current.read();
      world.clock.backToNow();
      outcomes.add(end.status);
      const said = ends(person.current);
      // The sweep may end an approved payment whose charge was not paid in time.
      const unpaid = kind === 'payment by Stripe' ? said.filter(event => event !== 'elicitation.approved') : said;
      if (end.status === 'expired') expect(unpaid).toEqual(['elicitation.expired']);
      else expect(said).not.toContain('elicitation.expired');
      expect(await person.current.read()).toEqual(end);
      const redeemed = await world.api.redeem(person.current.elicitationId);
      expect(redeemed.status).toBe(end.status === 'completed' ? 200 : 409);
      person.current = await again(person.current);
    }
    // The clock has covered moments before and after the commit.
    expect(outcomes.size).toBe(2);
  });

  /** The same user in front of a new elicitation for the same ask. */
  async function again(person: AskedPerson): Promise<AskedPerson> {
    const { body, status } = await person.askAgain();
    if (status !== 201) throw new Error(`not issued anew: ${status}`);
    const { elicitationId } = body;
    const page = `/e/${elicitationId}`;
    const { raw } = person;
    return {
      ...person,
      elicitationId,
      page,
      read: async () => (await world.api.read(elicitationId)).body,
      press: async verb => raw.post(`${page}/${verb}`, { form: { csrf_token: await raw.csrfToken(elicitationId) } }),
      approve: async () => raw.post(`${page}/accept`, { form: await raw.acceptForm(elicitationId) }),
      comeBack: () => raw.get(`${page}/charge`),
    };
  }
});

describe('T31, S40: one of concurrent accept and cancel is final', () => {
  it.each(answered)('$kind', async ({ ask, typed }) => {
    for (let round = 0; round < 4; round += 1) {
      const person = await askPerson(world, ask());
      const { elicitationId } = person;
      const { accept } = await atTheButton(person);
      const cancels: Promise<{ status: number; body: { code?: string } }>[] = [];
      const accepts = await all(AT_ONCE, async n => {
        if ((n + round) % 3 > 0) return accept(typed(n));
        const cancelled = world.apiOf({ replica: n % REPLICAS }).cancel(elicitationId);
        cancels.push(cancelled);
        await cancelled;
        return undefined;
      });
      for (const answer of accepts) if (answer !== undefined) expect(answer.status).toBe(303);
      if ((await person.read()).status === 'active') await world.api.cancel(elicitationId);
      const end = await person.read();
      expect(['completed', 'cancelled']).toContain(end.status);
      for (const { status, body } of await Promise.all(cancels)) {
        // A charge that is being created cannot be closed yet.
        if (body.code === 'upstream_unavailable') expect(status).toBe(502);
        // Approved between the read and the cancel.
        else if (body.code === 'payment_in_progress') expect(status).toBe(409);
        else expect(status).toBe(end.status === 'cancelled' ? 200 : 409);
      }
      expect((await accept(typed(1))).status).toBe(303);
      expect(await person.read()).toEqual(end);
      for (const { id } of world.stripe.checkoutSessionsOf(elicitationId))
        expect(world.stripe.pay(id)).toBe('not_open');
      expect((await world.api.redeem(elicitationId)).status).toBe(end.status === 'completed' ? 200 : 409);
    }
  });
});

describe('T30, S36: only the terms that were shown can be approved', () => {
  it.each(answered)('$kind: a forged digest among valid ones gets 409', async ({ ask, typed }) => {
    const person = await askPerson(world, ask());
    const { form, accept } = await atTheButton(person);
    const before = await person.read();
    const [digest = '', language] = (form['shown'] ?? '').split('.');
    const forged = {
      ...form,
      ...typed(1),
      shown: `${digest.startsWith('A') ? 'B' : 'A'}${digest.slice(1)}.${language}`,
    };
    const forge = () => person.raw.post(`${person.page}/accept`, { form: forged });
    expect((await forge()).status).toBe(409);
    expect(await person.read()).toEqual(before);
    expect(ends(person)).toEqual([]);
    const answers = await all(AT_ONCE, n => (n % 2 === 0 ? forge() : accept(typed(n))));
    // After the decision the page shows the outcome, whatever the request contained.
    for (const [n, { status }] of answers.entries()) expect(n % 2 === 0 ? [303, 409] : [303]).toContain(status);
    await expectOneResult(person);
  });
});
