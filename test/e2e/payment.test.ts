import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {} });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe('a payment', () => {
  it('without a processor is only an approval', async () => {
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
});

describe('S25: GET /e/{id}/charge, the one page that may write', () => {
  async function charging() {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf());
    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId);
    const [session] = world.stripe.checkoutSessionsOf(elicitationId);
    if (session === undefined) throw new Error('there is no charge');
    return { user, elicitationId, raw, session };
  }
  const asked = (): number => world.stripe.requests().length;

  it('writes nothing while the processor reports the charge as unpaid', async () => {
    const { elicitationId, raw } = await charging();
    const before = await storedElicitation(world, elicitationId);
    for (let round = 0; round < 5; round += 1) expect((await raw.get(`/e/${elicitationId}/charge`)).status).toBe(200);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
    expect(world.stripe.checkoutSessionsOf(elicitationId)).toHaveLength(1);
  });

  it('ignores query parameters about the payment', async () => {
    const { elicitationId, raw } = await charging();
    const before = await storedElicitation(world, elicitationId);
    for (const query of ['?status=paid', '?session_id=cs_x&payment_status=paid', '?redirect_status=succeeded'])
      await raw.get(`/e/${elicitationId}/charge${query}`);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it('sends the processor a request only for the user of a paid charge', async () => {
    const { elicitationId, session } = await charging();
    world.stripe.pay(session.id);
    const before = await storedElicitation(world, elicitationId);
    const requests = asked();
    const stranger = await visitorFor(world, world.subject(), elicitationId);
    expect((await stranger.get(`/e/${elicitationId}/charge`)).status).toBe(403);
    const anonymous = await world.raw().get(`/e/${elicitationId}/charge`);
    expect(anonymous.body).not.toContain('24.90');
    expect(asked()).toBe(requests);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it('sends the processor no request for a prefetch', async () => {
    const { elicitationId, session, raw } = await charging();
    world.stripe.pay(session.id);
    const before = await storedElicitation(world, elicitationId);
    const requests = asked();
    for (const headers of [{ 'sec-purpose': 'prefetch' }, { purpose: 'preview' }, { 'x-moz': 'prefetch' }])
      expect((await raw.get(`/e/${elicitationId}/charge`, { headers })).status).toBe(403);
    for (const method of ['HEAD', 'OPTIONS', 'PUT'])
      expect((await raw.request(method, `/e/${elicitationId}/charge`)).status).toBeGreaterThanOrEqual(400);
    expect(asked()).toBe(requests);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it('S69: records a charge paid in test mode on every page and in the outcome', async () => {
    const { elicitationId, session, raw } = await charging();
    const page = (await raw.get(`/e/${elicitationId}`)).body;
    expect(page).toContain(session.id);
    expect(page).toContain('test-mode');
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'active' });
    world.stripe.pay(session.id);
    expect(await raw.get(`/e/${elicitationId}/charge`)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await world.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      outcome: {
        kind: 'payment',
        processor: 'stripe-main',
        mode: 'test',
        processorReference: expect.stringMatching(/^pi_/),
      },
    });
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('test-mode');
    expect(world.stripe.chargesOf(elicitationId)).toMatchObject([{ amount: 2490, currency: 'eur' }]);
  });

  it('records an expired charge and offers another attempt', async () => {
    const { elicitationId, session, raw } = await charging();
    world.stripe.expire(session.id);
    expect((await raw.get(`/e/${elicitationId}/charge`)).status).toBe(303);
    expect((await world.api.read(elicitationId)).body).toMatchObject({ status: 'pending' });
  });

  it('starts no charge before the approval', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf());
    const raw = await visitorFor(world, user, elicitationId);
    const [requests, before] = [asked(), await storedElicitation(world, elicitationId)];
    expect(await raw.get(`/e/${elicitationId}/charge`)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    expect(await raw.post(`/e/${elicitationId}/charge`, { form })).toMatchObject({ status: 303 });
    expect(asked()).toBe(requests);
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });
});
