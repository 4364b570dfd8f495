import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createMovingBrowser } from '../support/moving-browser.ts';
import { pageWithFault } from '../support/page-with-fault.ts';
import { type AskedPerson, askPerson, movesOf, payLinkIn, sessionOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

type Fault = Parameters<PayingWorld['stripe']['fault']>[0]['does'];

/** A Stripe that rejects the API key, as for a replica with an outdated configuration. */
async function startRefusingStripe() {
  const asked = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  const listener = createServer(async (_, response) => {
    asked.resolve();
    await answering.promise;
    const error = { type: 'invalid_request_error', message: 'Invalid API Key provided' };
    response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    asked: asked.promise,
    answer: answering.resolve,
    close: () => listener.close(),
  };
}

let world: PayingWorld;
let refusing: Awaited<ReturnType<typeof startRefusingStripe>>;
let replicas = 0;
beforeAll(async () => {
  refusing = await startRefusingStripe();
  world = await startWorld({
    payment: {},
    replicas: 2,
    config: ({ base }): Partial<GatewayConfigInput> => {
      replicas += 1;
      if (replicas === 1) return { outbound: { timeoutSeconds: 1 } };
      return { processors: (base.processors ?? []).map(stripe => ({ ...stripe, apiUrl: refusing.url })) };
    },
  });
});
afterEach(() => world.stripe.clearFaults());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  refusing?.close();
});

const { promise: never } = Promise.withResolvers<void>();
const stripeFaults: readonly { readonly what: string; readonly does: Fault }[] = [
  { what: 'the connection breaks before the request takes effect', does: { loseAnswer: 'before' } },
  { what: 'the response is lost after the request took effect', does: { loseAnswer: 'after' } },
  {
    what: 'a timeout before the request takes effect',
    does: { hold: never, when: 'before', reached: () => undefined },
  },
  { what: '409, the key is in use', does: { status: 409, code: 'idempotency_key_in_use' } },
  { what: '429', does: { status: 429 } },
  { what: '500', does: { status: 500 } },
  { what: '500, stored under its key', does: { status: 500, isStored: true } },
  { what: '503', does: { status: 503 } },
  { what: 'a response that is not from Stripe', does: { body: '<html>' } },
  { what: 'another object', does: { body: '{"object":"list"}' } },
];

const session = (person: AskedPerson) => sessionOf(world.stripe, person.elicitationId);

/** Asserts that there is one charge, which is paid once, and a receipt. */
async function expectCanBePaidOnce(person: AskedPerson): Promise<void> {
  expect(payLinkIn(await person.raw.get(person.page))).toContain(session(person).id);
  expect(world.stripe.pay(session(person).id)).toBe('paid');
  await expect.poll(async () => (await person.comeBack()).status).toBe(303);
  expect(await person.read()).toMatchObject({ status: 'completed' });
  expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
  expect((await world.api.redeem(person.elicitationId)).body.receipt).toMatch(/^ey/);
  const moves = movesOf(world, person.elicitationId);
  for (const event of ['approved', 'charged', 'completed', 'redeemed'])
    expect(moves.filter(move => move === `elicitation.${event}`)).toHaveLength(1);
}

describe('S37: failures while creating the charge', () => {
  // Stripe keeps the idempotency key of a request that hangs forever, so a retry under the same key would fail.
  it.each(stripeFaults.filter(({ does }) => !('hold' in does)))(
    '$what: approved once, retried under the same key, paid once',
    async ({ does }) => {
      const person = await askPerson(world);
      world.stripe.fault({ kind: 'create', does });
      expect(await person.approve()).toMatchObject({ status: 303, location: pageWithFault(person.page) });
      expect(await person.read()).toMatchObject({ status: 'active' });
      const page = await person.raw.get(person.page);
      expect(page.status).toBe(200);
      expect(payLinkIn(page)).toBeUndefined();
      expect((await person.press('charge')).status).toBe(303);
      const keys = world.stripe
        .requests('create')
        .filter(({ body }) => body.includes(person.elicitationId))
        .map(({ idempotencyKey }) => idempotencyKey?.replace(/-2$/, ''));
      expect(keys.length).toBeGreaterThan(1);
      expect(new Set(keys).size).toBe(1);
      await expectCanBePaidOnce(person);
    },
  );

  it('a repeated failure answers 502 and keeps the page with its retry button', async () => {
    const person = await askPerson(world);
    world.stripe.fault({ kind: 'create', times: 4, does: { loseAnswer: 'before' } });
    expect((await person.approve()).status).toBe(303);
    for (let n = 0; n < 3; n += 1) expect((await person.press('charge')).status).toBe(502);
    expect((await person.press('charge')).status).toBe(303);
    await expectCanBePaidOnce(person);
  });

  it('a 409 for a concurrent request leads to one charge', async () => {
    const person = await askPerson(world);
    const creating = world.stripe.hold('create', 'after');
    const form = await person.raw.acceptForm(person.elicitationId);
    const accept = () => person.raw.post(`${person.page}/accept`, { form });
    const first = accept();
    await creating.reached;
    const others = await Promise.all(Array.from({ length: 10 }, accept));
    for (const answer of others) expect(answer).toMatchObject({ status: 303, location: person.page });
    expect(payLinkIn(await person.raw.get(person.page))).toBeUndefined();
    creating.release();
    expect((await first).status).toBe(303);
    await expectCanBePaidOnce(person);
  });

  it('a response after the timeout leads to the same charge on retry', async () => {
    const person = await askPerson(world);
    const creating = world.stripe.hold('create', 'after');
    expect((await person.approve()).status).toBe(303);
    creating.release();
    expect((await person.press('charge')).status).toBe(303);
    await expectCanBePaidOnce(person);
  });

  it.each([400, 401, 402, 403, 404])('%d fails the payment, and nothing can be paid', async status => {
    const person = await askPerson(world);
    const form = await person.raw.acceptForm(person.elicitationId);
    const accept = () => person.raw.post(`${person.page}/accept`, { form });
    world.stripe.fault({ kind: 'create', does: { status } });
    expect((await accept()).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'failed', failure: { code: 'processor_refused' } });
    expect(world.stripe.checkoutSessionsOf(person.elicitationId)).toEqual([]);
    const ended = await person.read();
    expect((await accept()).status).toBe(303);
    expect(world.stripe.checkoutSessionsOf(person.elicitationId)).toEqual([]);
    expect(await person.read()).toEqual(ended);
  });

  it('S37: a replica with a revoked key does not fail a payment whose charge another replica has opened', async () => {
    const person = await askPerson(world);
    const addresses = world.gateways.map(({ address }) => address);
    const browser = createMovingBrowser({ addresses, publicUrl: world.publicUrl });
    await browser.at(0).signIn(person.elicitationId, person.user);
    world.stripe.loseAnswer('create', 'before');
    await browser.at(0).post(`${person.page}/accept`, { form: await browser.at(0).acceptForm(person.elicitationId) });
    const form = { csrf_token: await browser.at(0).csrfToken(person.elicitationId) };
    const behind = browser.at(1).post(`${person.page}/charge`, { form });
    await refusing.asked;
    expect((await browser.at(0).post(`${person.page}/charge`, { form })).status).toBe(303);
    const { id } = session(person);
    refusing.answer();
    expect((await behind).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'active' });
    expect(payLinkIn(await browser.at(1).get(person.page))).toContain(id);
    await expectCanBePaidOnce(person);
  });
});

describe('S37: failures while reading the charge', () => {
  it.each(stripeFaults)('$what: keeps the page and the status', async ({ does }) => {
    const person = await askPerson(world);
    await person.approve();
    const { id } = session(person);
    world.stripe.pay(id);
    world.stripe.fault({ kind: 'retrieve', does });
    const page = await person.comeBack();
    expect(page.status).toBe(200);
    expect(await person.read()).toMatchObject({ status: 'active' });
    expect((await person.comeBack()).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'completed' });
    expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
  });
});

describe('S40: failures while closing the charge', () => {
  it.each(stripeFaults)('$what: declines only once the status is known, and then finally', async ({ does }) => {
    const person = await askPerson(world);
    await person.approve();
    const { id } = session(person);
    world.stripe.fault({ kind: 'expire', does });
    expect((await person.press('decline')).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'active' });
    expect((await person.press('decline')).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'declined' });
    expect(world.stripe.pay(id)).toBe('not_open');
    expect(world.stripe.chargesOf(person.elicitationId)).toEqual([]);
  });

  it.each(stripeFaults.filter(({ what }) => !what.includes('after')))(
    '$what: a payment that was paid meanwhile is completed',
    async ({ does }) => {
      const person = await askPerson(world);
      await person.approve();
      const { id } = session(person);
      world.stripe.fault({ kind: 'expire', does });
      await person.press('decline');
      expect(world.stripe.pay(id)).toBe('paid');
      expect((await person.press('decline')).status).toBe(303);
      expect(await person.read()).toMatchObject({ status: 'completed' });
      expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
    },
  );

  it('survives a lost response to the status request as well', async () => {
    const person = await askPerson(world);
    await person.approve();
    world.stripe.expire(session(person).id);
    world.stripe.loseAnswer('retrieve', 'after');
    expect((await person.press('decline')).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'active' });
    await person.press('decline');
    expect(await person.read()).toMatchObject({ status: 'declined' });
  });
});
