import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, issueFor, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a confirmation', () => {
  it('is approved by its user and redeemed once as a receipt', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
    const raw = await visitorFor(world, user, elicitationId);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).toContain('postern/attic');
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({ code: 'not_redeemable' });
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await world.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      outcome: {
        kind: 'confirmation',
        approval: { method: 'button', identity: world.file === undefined ? 'login' : 'loopback' },
      },
    });
    const redeemed = await world.api.redeem(elicitationId, { 'idempotency-key': 'one' });
    expect(redeemed).toMatchObject({ status: 200, body: { kind: 'confirmation' } });
    expect(redeemed.body.receipt).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect((await world.api.redeem(elicitationId, { 'idempotency-key': 'one' })).body).toEqual(redeemed.body);
    expect((await world.api.redeem(elicitationId, { 'idempotency-key': 'two' })).body).toMatchObject({
      code: 'already_redeemed',
    });
  });
});
