import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {} });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('a payment', () => {
  it('without a processor is an approval', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    const raw = await visitorFor(world, user, elicitationId);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.body).toContain('24.90');
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('24.90');
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({ kind: 'payment' });
    expect(world.stripe.chargesOf(elicitationId)).toEqual([]);
  });

  it('is paid at the processor, and its return page learns so from the processor', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf());
    const raw = await visitorFor(world, user, elicitationId);
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    const [session] = world.stripe.checkoutSessionsOf(elicitationId);
    expect(page.body).toContain(session?.id ?? 'no session');
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'active' });
    expect((await raw.get(`/e/${elicitationId}/charge`)).status).toBe(200);
    world.stripe.pay(session?.id ?? '');
    expect(await raw.get(`/e/${elicitationId}/charge`)).toMatchObject({ status: 303 });
    expect((await world.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      outcome: { kind: 'payment', processor: 'stripe-main', processorReference: expect.stringMatching(/^pi_/) },
    });
    expect(world.stripe.chargesOf(elicitationId)).toMatchObject([{ amount: 2490, currency: 'eur' }]);
  });
});
