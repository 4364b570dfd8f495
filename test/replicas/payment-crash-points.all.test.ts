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
/** Of one test. */
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

/** A person in front of the button, at a process that is about to die. */
interface Scene {
  readonly victim: GatewayProcess;
  readonly person: AskedPerson;
  /** Presses the button; whether the browser hears of it is a race, what is stored is not. */
  press(): Promise<unknown>;
  comeBack(): Promise<unknown>;
  /** Between the victim and Redis, when there is something to get lost. */
  swallow(marker: string): Promise<void>;
}

/** The browser of the person, at another address. */
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

/** At the processor, and paid there. */
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
  /** What Stripe and the store know by then. That alone decides how it ends where nobody comes back. */
  readonly known: 'approval' | 'charge' | 'noted charge' | 'payment' | 'end';
  /** Resolves when the victim is dead. */
  readonly die: () => Promise<Scene>;
}

/** Where a process dies. */
const points: readonly Point[] = [
  {
    point: 'approved, the charge not asked for',
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
    point: 'the charge exists, its answer not seen',
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
    point: 'the charge is answered, not noted',
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
    point: 'the charge is noted, the browser not sent on',
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
    point: 'paid, and nobody here knows',
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
    point: 'paid and known, not settled',
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
    point: 'settled, the browser not told',
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

/** The person reloads, presses what the page offers, pays if that is still to be done, and comes back. */
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

/** Nothing got lost, nothing happened twice, and it has ended. */
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

  it('a process that is started again completes the payment once, with a receipt', async () => {
    const scene = await diesAt('payment');
    const again = used.use(await startGatewayProcess(world.config));
    await goOn(sameBrowserAt(again.address, scene.person), scene);
    await expectPaidOnce(scene);
  });

  it('nobody comes back: each payment ends by what Stripe says', { timeout: HANG_MS }, async () => {
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

  it('P7: when Stripe calls: it calls again, elsewhere', async () => {
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

  it('S40: while it is closed at Stripe: closed for good, and another replica says so', async () => {
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

describe('S37: suspended in the middle of a step, and resumed when others have gone on', () => {
  it('with the answer that names the charge before it: another replica led to it, and it was paid', async () => {
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

  it('having learned that nothing is paid yet: it was paid meanwhile, and stays paid', async () => {
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

  it('closing one attempt: the next one is not touched by what it says then', async () => {
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
