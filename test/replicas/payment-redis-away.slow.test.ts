import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askPerson, payLinkIn, sessionOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

/** Only turns a hang into a failure. */
const HANG_MS = 100_000;

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {}, isRedisKilled: true });
});
afterEach(() => world.stripe.clearFaults());
afterAll(() => world?.[Symbol.asyncDispose]());

describe('R1, R6, S37: Redis unavailable between the charge and its record', () => {
  const redis = () => {
    const { server } = world.redis;
    if (server === undefined) throw new Error('this world has no private Redis');
    return server;
  };
  const ways = [
    { how: 'killed', away: () => redis().kill(), back: () => redis().restart() },
    { how: 'frozen', away: async () => redis().suspend(), back: async () => redis().resume() },
  ];
  const readiness = async () => (await fetch(`${world.gateways[0]?.address}/readyz`)).status;

  it.each(ways)('$how: the retry gets the same charge, which is paid once', async ({ away, back }) => {
    const person = await askPerson(world);
    const creating = world.stripe.hold('create', 'after');
    const approved = person.approve();
    await creating.reached;
    await away();
    creating.release();
    await expect.poll(readiness, { timeout: HANG_MS }).toBe(503);
    await back();
    const { status, headers } = await approved;
    if (status === 503) expect(headers['retry-after']).toMatch(/^\d+$/);
    else expect(status).toBe(303);
    await expect.poll(readiness, { timeout: HANG_MS }).toBe(200);
    if (payLinkIn(await person.raw.get(person.page)) === undefined)
      expect((await person.press('charge')).status).toBe(303);
    world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
    await person.comeBack();
    expect(await person.read()).toMatchObject({ status: 'completed' });
    expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
  });

  it.each(ways)(
    '$how between Stripe’s response and the settlement: the retry settles the same payment',
    async ({ away, back }) => {
      const person = await askPerson(world);
      await person.approve();
      world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
      const asking = world.stripe.hold('retrieve', 'after');
      const returned = person.comeBack();
      await asking.reached;
      await away();
      asking.release();
      await expect.poll(readiness, { timeout: HANG_MS }).toBe(503);
      await back();
      expect([303, 503]).toContain((await returned).status);
      await expect.poll(readiness, { timeout: HANG_MS }).toBe(200);
      expect((await person.comeBack()).status).toBe(303);
      expect(await person.read()).toMatchObject({ status: 'completed' });
      expect(world.stripe.chargesOf(person.elicitationId)).toHaveLength(1);
    },
  );
});
