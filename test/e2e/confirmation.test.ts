import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, issueFor, visitorFor } from '../support/asks.ts';
import { type Stage, startStage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

describe('a confirmation', () => {
  it('is given by its person and redeemed once, as a receipt', async () => {
    const user = stage.subject();
    const { elicitationId } = await issueFor(stage, user, { kind: 'confirmation', confirmation: deletion });
    const raw = await visitorFor(stage, user, elicitationId);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).toContain('postern/attic');
    expect((await stage.api.redeem(elicitationId)).body).toMatchObject({ code: 'not_redeemable' });
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await stage.api.read(elicitationId)).body).toMatchObject({
      status: 'completed',
      outcome: { kind: 'confirmation', approval: { method: 'button', identity: 'login' } },
    });
    const redeemed = await stage.api.redeem(elicitationId, { 'idempotency-key': 'one' });
    expect(redeemed).toMatchObject({ status: 200, body: { kind: 'confirmation' } });
    expect(redeemed.body.receipt).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect((await stage.api.redeem(elicitationId, { 'idempotency-key': 'one' })).body).toEqual(redeemed.body);
    expect((await stage.api.redeem(elicitationId, { 'idempotency-key': 'two' })).body).toMatchObject({
      code: 'already_redeemed',
    });
  });
});
