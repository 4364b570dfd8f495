import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { tamper } from '../support/stored-elicitation.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {} });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

async function asked() {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, paymentOf());
  return { elicitationId, raw: await visitorFor(world, user, elicitationId) };
}
const dearer = (elicitationId: string) => tamper(world, elicitationId, '"minorUnits":2490', '"minorUnits":24900');
const readOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body;

describe('S36, T30: terms that were changed in the store are never charged', () => {
  it('changed before the approval: not approved, and the processor gets no request', async () => {
    const { elicitationId, raw } = await asked();
    const form = await raw.acceptForm(elicitationId);
    await dearer(elicitationId);
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(409);
    expect((await readOf(elicitationId)).status).toBe('pending');
    expect(world.stripe.checkoutSessionsOf(elicitationId)).toEqual([]);
  });

  it('changed between the approval and the charge: no charge is created', async () => {
    const { elicitationId, raw } = await asked();
    world.stripe.fault({ kind: 'create', times: 10, does: { status: 500 } });
    await acceptWith(raw, elicitationId);
    world.stripe.clearFaults();
    expect((await readOf(elicitationId)).status).toBe('active');
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    await dearer(elicitationId);
    expect((await raw.post(`/e/${elicitationId}/charge`, { form })).status).toBe(500);
    expect(world.stripe.checkoutSessionsOf(elicitationId)).toEqual([]);
    expect((await readOf(elicitationId)).status).toBe('active');
  });

  it('changed during the payment: the paid amount differs from the request, and the payment is reported for a refund', async () => {
    const { elicitationId, raw } = await asked();
    await acceptWith(raw, elicitationId);
    await dearer(elicitationId);
    world.stripe.pay(world.stripe.checkoutSessionsOf(elicitationId)[0]?.id ?? '');
    await raw.get(`/e/${elicitationId}/charge`);
    expect(await readOf(elicitationId)).toMatchObject({ status: 'failed', failure: { code: 'payment_mismatch' } });
    expect(world.log()).toMatch(new RegExp(`payment\\.refund_needed.*${elicitationId}`));
    expect(world.stripe.chargesOf(elicitationId)).toMatchObject([{ amount: 2490 }]);
  });
});
