import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type AskedPerson, askPerson, auditOf, payLinkIn, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { listenForWakeUp } from '../support/wake-up.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const TTL_SECONDS = 300;
/** Only turns a hang into a failure. */
const HANG_MS = 300_000;

let world: PayingWorld;
const stack = new AsyncDisposableStack();
/** Timeout of one test. */
let used: AsyncDisposableStack;

beforeAll(async () => {
  world = stack.use(await startWorld({ payment: {} }));
  used = new AsyncDisposableStack();
});
afterEach(async () => {
  world.stripe.clearFaults();
  world.clock.backToNow();
  await used.disposeAsync();
  used = new AsyncDisposableStack();
});
afterAll(() => stack.disposeAsync());

/** A user in front of the button, at a process that is about to be killed. */
interface Scene {
  readonly victim: GatewayProcess;
  readonly person: AskedPerson;
  /** Presses the button. Whether the browser gets a response is a race; the stored result is not. */
  press(): Promise<unknown>;
  comeBack(): Promise<unknown>;
  /** Proxy between the victim and Redis, for tests that lose a response. */
  swallow(marker: string): Promise<void>;
}

/** The user's browser at another replica. */
function sameBrowserAt(address: string, person: AskedPerson): RawBrowser {
  const raw = createRawBrowser({ address, publicUrl: world.publicUrl });
  for (const [name, value] of person.raw.cookies) raw.cookies.set(name, value);
  return raw;
}

async function openScene(change: Partial<GatewayConfigInput> = {}): Promise<Scene> {
  const redisUrl = world.redis.url;
  const proxy = used.use(await startSwallowingProxy(Number(new URL(redisUrl).port)));
  const redis = { ...world.config.redis, url: `redis://127.0.0.1:${proxy.port}` };
  const victim = used.use(await startGatewayProcess({ ...world.config, redis, ...change }));
  const person = await askPerson(world, undefined, { ttlSeconds: TTL_SECONDS });
  const raw = sameBrowserAt(victim.address, person);
  const form = await raw.acceptForm(person.elicitationId);
  return {
    victim,
    person,
    press: () => raw.post(`${person.page}/accept`, { form }).catch(() => undefined),
    comeBack: () => raw.get(`${person.page}/charge`).catch(() => undefined),
    swallow: proxy.swallow,
  };
}

/** Goes to the processor and pays. */
async function openPaidScene(): Promise<Scene> {
  const scene = await openScene();
  await scene.press();
  expect(world.stripe.pay(session(scene.person).id)).toBe('paid');
  return scene;
}

const session = ({ elicitationId }: AskedPerson) => sessionOf(world.stripe, elicitationId);
const changes = ({ elicitationId }: AskedPerson, count: number) =>
  listenForWakeUp(world.redis.url, elicitationId, count);

interface Point {
  readonly point: string;
  /** The status at Stripe and in the store at that point, which determines the outcome if the browser never returns. */
  readonly known: 'approval' | 'charge' | 'noted charge' | 'payment' | 'end';
  /** Resolves when the victim is dead. */
  readonly die: () => Promise<Scene>;
}

/** The points at which a process is killed. */
const points: readonly Point[] = [
  {
    point: 'approved, before the request for the charge',
    known: 'approval',
    async die() {
      const processors = (world.config.processors ?? []).map(processor => ({ ...processor }));
      const stripe = used.use(await startSwallowingProxy(world.stripe.port));
      for (const processor of processors) processor.apiUrl = `http://127.0.0.1:${stripe.port}`;
      const scene = await openScene({ processors });
      const asked = stripe.swallow('POST /v1/checkout/sessions');
      const pressed = scene.press();
      await asked;
      await scene.victim.kill();
      await pressed;
      expect(world.stripe.checkoutSessionsOf(scene.person.elicitationId)).toEqual([]);
      return scene;
    },
  },
  {
    point: 'the charge exists, before its response arrives',
    known: 'charge',
    async die() {
      const scene = await openScene();
      const creating = world.stripe.hold('create', 'after');
      const pressed = scene.press();
      await creating.reached;
      await scene.victim.kill();
      creating.release();
      await pressed;
      expect(session(scene.person).status).toBe('open');
      return scene;
    },
  },
  {
    point: 'the response has arrived, before the charge is recorded',
    known: 'charge',
    async die() {
      const scene = await openScene();
      const swallowed = scene.swallow('cs_test_');
      const pressed = scene.press();
      await swallowed;
      await scene.victim.kill();
      await pressed;
      expect(session(scene.person).status).toBe('open');
      expect(payLinkIn(await scene.person.raw.get(scene.person.page))).toBeUndefined();
      return scene;
    },
  },
  {
    point: 'the charge is recorded, before the redirect',
    known: 'noted charge',
    async die() {
      const scene = await openScene();
      const { woken } = await changes(scene.person, 2);
      const pressed = scene.press();
      await woken;
      await scene.victim.kill();
      await pressed;
      expect(payLinkIn(await scene.person.raw.get(scene.person.page))).toContain(session(scene.person).id);
      return scene;
    },
  },
  {
    point: 'paid, before any replica knows',
    known: 'payment',
    async die() {
      const scene = await openPaidScene();
      const asking = world.stripe.hold('retrieve', 'after');
      const back = scene.comeBack();
      await asking.reached;
      await scene.victim.kill();
      asking.release();
      await back;
      expect(await scene.person.read()).toMatchObject({ status: 'active' });
      return scene;
    },
  },
  {
    point: 'paid and known, before it is settled',
    known: 'payment',
    async die() {
      const scene = await openPaidScene();
      const swallowed = scene.swallow('"pi_');
      const back = scene.comeBack();
      await swallowed;
      await scene.victim.kill();
      await back;
      expect(await scene.person.read()).toMatchObject({ status: 'active' });
      return scene;
    },
  },
  {
    point: 'settled, before the browser gets the response',
    known: 'end',
    async die() {
      const scene = await openPaidScene();
      const { woken } = await changes(scene.person, 1);
      const back = scene.comeBack();
      await woken;
      await scene.victim.kill();
      await back;
      expect(await scene.person.read()).toMatchObject({ status: 'completed' });
      return scene;
    },
  },
];

async function diesAt(known: Point['known']): Promise<Scene> {
  const point = points.find(each => each.known === known);
  if (point === undefined) throw new TypeError('no such point');
  return point.die();
}

/** The user reloads, continues as the page offers, pays if necessary, and returns. */
async function goOn(raw: RawBrowser, { person }: Scene): Promise<void> {
  const { page, elicitationId } = person;
  if ((await person.read()).status === 'completed') return;
  const chargePage = await raw.get(page);
  expect(chargePage.status).toBe(200);
  if (payLinkIn(chargePage) === undefined) {
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    expect((await raw.post(`${page}/charge`, { form })).status).toBe(303);
    expect(payLinkIn(await raw.get(page))).toContain(session(person).id);
  }
  world.stripe.pay(session(person).id);
  expect((await raw.get(`${page}/charge`)).status).toBe(303);
}

/** Asserts that the payment has ended, and that each step happened exactly once. */
async function expectPaidOnce({ person, victim }: Scene): Promise<void> {
  const { elicitationId } = person;
  expect(world.stripe.checkoutSessionsOf(elicitationId)).toHaveLength(1);
  const [charge, ...others] = world.stripe.chargesOf(elicitationId);
  expect(others).toEqual([]);
  expect(await person.read()).toMatchObject({
    status: 'completed',
    outcome: { processorReference: charge?.paymentIntentId },
  });
  const key = { 'idempotency-key': elicitationId };
  const redeemed = await world.api.redeem(elicitationId, key);
  expect(redeemed.body.receipt).toMatch(/^ey/);
  expect((await world.api.redeem(elicitationId, key)).body).toEqual(redeemed.body);
  expect(victim.audited.filter(line => line.includes('refund_needed'))).toEqual([]);
  expect(auditOf(world, elicitationId).filter(({ event }) => event === 'payment.refund_needed')).toEqual([]);
}

describe('S37, P2–P7: killed in the middle of a payment', () => {
  it.each(points)('$point: another replica completes the payment once, with a receipt', async ({ die }) => {
    const scene = await die();
    await goOn(scene.person.raw, scene);
    await expectPaidOnce(scene);
  });

  it('a restarted process completes the payment once, with a receipt', async () => {
    const scene = await diesAt('payment');
    const again = used.use(await startGatewayProcess(world.config));
    await goOn(sameBrowserAt(again.address, scene.person), scene);
    await expectPaidOnce(scene);
  });

  it('a payment whose browser never returns ends with the status at Stripe', { timeout: HANG_MS }, async () => {
    const scenes: Scene[] = [];
    for (const known of ['approval', 'charge', 'noted charge', 'payment'] as const) scenes.push(await diesAt(known));
    world.clock.pass(TTL_SECONDS);
    for (const { person } of scenes) {
      const { elicitationId } = person;
      const wasPaid = world.stripe.chargesOf(elicitationId).length > 0;
      await expect
        .poll(async () => (await person.read()).status, { timeout: HANG_MS })
        .toBe(wasPaid ? 'completed' : 'expired');
      for (const { id } of world.stripe.checkoutSessionsOf(elicitationId))
        expect(world.stripe.pay(id)).toBe('not_open');
    }
    const paid = scenes.filter(({ person }) => world.stripe.chargesOf(person.elicitationId).length > 0);
    expect(paid).toHaveLength(1);
    for (const scene of paid) await expectPaidOnce(scene);
  });

  it('P7: Stripe retries the webhook at another replica', async () => {
    const scene = await openPaidScene();
    const [event] = world.stripe.eventsOf(session(scene.person).id);
    if (event === undefined) throw new Error('Stripe says nothing');
    const asking = world.stripe.hold('retrieve', 'after');
    const called = world.stripe.deliver(`${scene.victim.address}/webhooks/stripe-main`, event).catch(() => undefined);
    await asking.reached;
    await scene.victim.kill();
    asking.release();
    expect(await called).toBeUndefined();
    expect(await world.stripe.deliver(webhookUrlOf(world), event)).toBe(204);
    await expectPaidOnce(scene);
  });

  it('S40: a payment being closed at Stripe ends, and another replica reports it', async () => {
    const scene = await openScene();
    await scene.press();
    const raw = sameBrowserAt(scene.victim.address, scene.person);
    const form = { csrf_token: await raw.csrfToken(scene.person.elicitationId) };
    const closing = world.stripe.hold('expire', 'after');
    const declined = raw.post(`${scene.person.page}/decline`, { form }).catch(() => undefined);
    await closing.reached;
    await scene.victim.kill();
    closing.release();
    await declined;
    expect(await scene.person.read()).toMatchObject({ status: 'active' });
    expect((await scene.person.press('decline')).status).toBe(303);
    expect(await scene.person.read()).toMatchObject({ status: 'declined' });
    expect(world.stripe.pay(session(scene.person).id)).toBe('not_open');
    expect(world.stripe.chargesOf(scene.person.elicitationId)).toEqual([]);
  });
});

describe('S37: a replica suspended during a step and resumed after others continued', () => {
  it('with an unread response about the charge does not affect the payment through another replica', async () => {
    const scene = await openScene();
    const creating = world.stripe.hold('create', 'after');
    const pressed = scene.press();
    await creating.reached;
    scene.victim.suspend();
    creating.release();
    await goOn(scene.person.raw, scene);
    const completed = await scene.person.read();
    scene.victim.resume();
    await pressed;
    expect(await scene.person.read()).toEqual(completed);
    await expectPaidOnce(scene);
  });

  it('with an outdated unpaid status leaves the payment completed', async () => {
    const scene = await openScene();
    await scene.press();
    const asking = world.stripe.hold('retrieve', 'after');
    const back = scene.comeBack();
    await asking.reached;
    scene.victim.suspend();
    asking.release();
    await goOn(scene.person.raw, scene);
    scene.victim.resume();
    await back;
    await expectPaidOnce(scene);
  });

  it('while closing one attempt does not affect the next attempt', async () => {
    const scene = await openScene();
    const { person } = scene;
    await scene.press();
    const { id: first } = session(person);
    const raw = sameBrowserAt(scene.victim.address, person);
    const form = { csrf_token: await raw.csrfToken(person.elicitationId) };
    const closing = world.stripe.hold('expire', 'after');
    const declined = raw.post(`${person.page}/decline`, { form }).catch(() => undefined);
    await closing.reached;
    scene.victim.suspend();
    closing.release();
    expect((await person.comeBack()).status).toBe(303);
    expect(await person.read()).toMatchObject({ status: 'pending' });
    await person.approve();
    scene.victim.resume();
    await declined;
    expect(await person.read()).toMatchObject({ status: 'active' });
    const second = world.stripe.checkoutSessionsOf(person.elicitationId).find(({ id }) => id !== first);
    expect(world.stripe.pay(second?.id ?? '')).toBe('paid');
    await person.comeBack();
    expect(await person.read()).toMatchObject({ status: 'completed' });
    expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
    expect(world.stripe.pay(first)).toBe('not_open');
  });
});
