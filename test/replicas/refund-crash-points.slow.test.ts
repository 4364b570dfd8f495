import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PaymentBody, RefundBody } from '@postern/api';
import type { GatewayConfigInput } from '@postern/gateway';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import {
  type AskedPerson,
  askPerson,
  auditOf,
  paidPerson,
  sessionOf,
  webhookUrlOf,
} from '../support/payment-person.ts';
import { startSwallowingProxy } from '../support/swallowing-proxy.ts';
import { listenForWakeUp } from '../support/wake-up.ts';
import { createApi, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

/** Only turns a hang into a failure. */
const HANG_MS = 300_000;

let world: PayingWorld;
const stack = new AsyncDisposableStack();
let used = new AsyncDisposableStack();
beforeAll(async () => {
  world = stack.use(await startWorld({ payment: { refundUnexpected: true }, sweepPauseMs: 50 }));
});
afterEach(async () => {
  world.stripe.clearFaults();
  await used.disposeAsync();
  used = new AsyncDisposableStack();
});
afterAll(() => stack.disposeAsync());

interface Scene {
  readonly victim: GatewayProcess;
  readonly person: AskedPerson;
  /** Makes the victim refund. Whether it answers is a race; the refund is not. */
  start(): Promise<unknown>;
  /** The caller repeats its request at another replica. */
  repeat(): Promise<void>;
  /** A proxy between the victim and Redis. */
  swallow(marker: string): Promise<void>;
}

async function victimWith(change: Partial<GatewayConfigInput> = {}) {
  const proxy = used.use(await startSwallowingProxy(Number(new URL(world.redis.url).port)));
  const redis = { ...world.config.redis, url: `redis://127.0.0.1:${proxy.port}` };
  return { victim: used.use(await startGatewayProcess({ ...world.config, redis, ...change })), swallow: proxy.swallow };
}

const ask = { minorUnits: 490, reason: 'Damaged' };
const path = ({ elicitationId }: AskedPerson) => `/v1/payments/${elicitationId}`;

/** The MCP server refunds a part of a payment at the victim. */
async function requested(change?: Partial<GatewayConfigInput>): Promise<Scene> {
  const { victim, swallow } = await victimWith(change);
  const person = await askPerson(world);
  await person.approve();
  world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  const at = createApi(victim.address, keyOf('tracker'));
  const key = { 'idempotency-key': 'one' };
  return {
    victim,
    person,
    swallow,
    start: () => at.call('POST', `${path(person)}/refunds`, ask, key).catch(() => undefined),
    async repeat() {
      const answer = await world.api.call<RefundBody>('POST', `${path(person)}/refunds`, ask, key);
      expect(answer).toMatchObject({ status: 201, body: { status: 'succeeded', minorUnits: 490 } });
    },
  };
}

/** Stripe tells the victim of a payment of another amount, which the gateway pays back by itself. */
async function unexpected(change?: Partial<GatewayConfigInput>): Promise<Scene> {
  const { victim, swallow } = await victimWith(change);
  const person = await askPerson(world);
  await person.approve();
  const { id } = sessionOf(world.stripe, person.elicitationId);
  expect(world.stripe.pay(id, { amount: 2400 })).toBe('paid');
  const [event] = world.stripe.eventsOf(id);
  if (event === undefined) throw new Error('Stripe says nothing');
  return {
    victim,
    person,
    swallow,
    start: () => world.stripe.deliver(`${victim.address}/webhooks/stripe-main`, event).catch(() => undefined),
    async repeat() {
      expect(await world.stripe.deliver(webhookUrlOf(world), event)).toBe(204);
    },
  };
}

/** An operator reserves a refund, which only the victim sweeps. */
async function reserved(change?: Partial<GatewayConfigInput>): Promise<Scene> {
  const { victim, swallow } = await victimWith(change);
  const person = await paidPerson(world);
  const directory = await mkdtemp(join(tmpdir(), 'postern-refund-'));
  used.defer(() => rm(directory, { recursive: true }));
  const path = join(directory, 'postern.config.yaml');
  await writeFile(path, JSON.stringify(world.config));
  const command = ['payments', 'refund', person.elicitationId, '--minor-units', '490', '--reason', 'ticket 7'];
  /** Does not wait for a gateway. */
  const reserve = () => runCommand([...command, '-c', path], { signal: AbortSignal.abort() });
  return {
    victim,
    person,
    swallow,
    start: reserve,
    async repeat() {
      await reserve();
      await world.gateways[0]?.deps.refunds.check(person.elicitationId as `el_${string}`);
    },
  };
}

type Open = typeof requested;

/** The points at which a process is killed. `isReserved`: another replica finishes the refund without being asked again. */
const points: readonly (readonly [point: string, isReserved: boolean, die: (open: Open) => Promise<Scene>])[] = [
  [
    'before the refund is reserved',
    false,
    async open => {
      const scene = await open();
      const swallowed = scene.swallow('"refundId"');
      const started = scene.start();
      await swallowed;
      await scene.victim.kill();
      await started;
      return scene;
    },
  ],
  [
    'reserved, before the request to the processor',
    true,
    async open => {
      const processors = (world.config.processors ?? []).map(processor => ({ ...processor }));
      const stripe = used.use(await startSwallowingProxy(world.stripe.port));
      for (const processor of processors) processor.apiUrl = `http://127.0.0.1:${stripe.port}`;
      const scene = await open({ processors });
      const asked = stripe.swallow('POST /v1/refunds');
      const started = scene.start();
      await asked;
      await scene.victim.kill();
      await started;
      expect(refundsOf(scene)).toEqual([]);
      return scene;
    },
  ],
  [
    'the refund exists, before its response arrives',
    true,
    async open => {
      const scene = await open();
      const making = world.stripe.hold('refund', 'after');
      const started = scene.start();
      await making.reached;
      await scene.victim.kill();
      making.release();
      await started;
      expect(refundsOf(scene)).toHaveLength(1);
      return scene;
    },
  ],
  [
    'the response has arrived, before it is recorded',
    true,
    async open => {
      const scene = await open();
      const swallowed = scene.swallow('"re_');
      const started = scene.start();
      await swallowed;
      await scene.victim.kill();
      await started;
      expect(refundsOf(scene)).toHaveLength(1);
      return scene;
    },
  ],
  [
    'recorded, before the response is sent',
    true,
    async open => {
      const scene = await open();
      const { woken } = await listenForRefund(scene);
      const started = scene.start();
      await woken;
      await scene.victim.kill();
      await started;
      return scene;
    },
  ],
];

const refundsOf = ({ person: { elicitationId } }: Scene) =>
  world.stripe.refunds.filter(({ metadata }) => metadata['elicitationId'] === elicitationId);

/** The reservation wakes nobody. An unexpected payment ends its elicitation first. */
async function listenForRefund({ person }: Scene): Promise<{ woken: Promise<void> }> {
  const isOpen = (await person.read()).status === 'active';
  return listenForWakeUp(world.redis.url, person.elicitationId, isOpen ? 2 : 1);
}

/** Lets the background checks of the other replica run until the refund has ended. */
async function settled({ person }: Scene): Promise<void> {
  const { payments } = world.gateways[0]?.deps.stores ?? {};
  await expect
    .poll(
      async () => {
        const { body } = await world.api.call<PaymentBody>('GET', path(person));
        if (body.refunds.some(({ status }) => status === 'succeeded')) return true;
        await payments?.checkLater(person.elicitationId as `el_${string}`, 'refunds', 0);
        return false;
      },
      { timeout: HANG_MS, interval: 100 },
    )
    .toBe(true);
}

async function expectRefundedOnce(scene: Scene): Promise<void> {
  const { person, victim } = scene;
  const { body } = await world.api.call<PaymentBody>('GET', path(person));
  expect(body.refunds).toMatchObject([{ status: 'succeeded', processorReference: refundsOf(scene)[0]?.id }]);
  expect(refundsOf(scene)).toHaveLength(1);
  expect(victim.audited.filter(line => line.includes('refund_needed'))).toEqual([]);
  expect(auditOf(world, person.elicitationId).filter(({ event }) => event === 'payment.refund_needed')).toEqual([]);
}

describe('S115, S143: a refund of the MCP server', () => {
  it.each(points)('killed %s: a repeat at another replica finds or makes the one refund', async (_, __, die) => {
    const scene = await die(requested);
    await scene.repeat();
    await scene.repeat();
    await expectRefundedOnce(scene);
  });
});

describe('S142, S143: the refund of an unexpected payment', () => {
  it.each(points)(
    'killed %s: another replica finishes it by itself, or with the repeated webhook',
    { timeout: HANG_MS },
    async (_, isReserved, die) => {
      const scene = await die(unexpected);
      if (isReserved) await settled(scene);
      await scene.repeat();
      await expectRefundedOnce(scene);
    },
  );
});

describe('S162, S143: the refund of an operator', () => {
  beforeAll(async () => {
    world = stack.use(await startWorld({ payment: {}, sweepPauseMs: HANG_MS }));
  });

  // The reservation is not made by the victim.
  it.each(points.slice(1))('killed %s: another replica finishes it', async (_, __, die) => {
    const scene = await die(reserved);
    await scene.repeat();
    await scene.repeat();
    await expectRefundedOnce(scene);
  });
});
