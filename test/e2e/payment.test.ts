import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentConfig, paymentOf, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
let stripe: FakeStripe;
beforeAll(async () => {
  stripe = await startFakeStripe();
  const { processors, payment } = paymentConfig(stripe);
  world = await startWorld({ config: { processors }, mcpServer: { payment } });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await stripe.close();
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
    expect(stripe.chargesOf(elicitationId)).toEqual([]);
  });

  it('is paid at the processor, and its return page learns so from the processor', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf());
    const raw = await visitorFor(world, user, elicitationId);
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    const [session] = stripe.checkoutSessionsOf(elicitationId);
    expect(page.body).toContain(session?.id ?? 'no session');
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'active' });
    expect((await raw.get(`/e/${elicitationId}/charge`)).status).toBe(200);
    stripe.pay(session?.id ?? '');
    expect(await raw.get(`/e/${elicitationId}/charge`)).toMatchObject({ status: 303 });
    expect((await world.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      outcome: { kind: 'payment', processor: 'stripe-main', processorReference: expect.stringMatching(/^pi_/) },
    });
    expect(stripe.chargesOf(elicitationId)).toMatchObject([{ amount: 2490, currency: 'eur' }]);
  });
});
