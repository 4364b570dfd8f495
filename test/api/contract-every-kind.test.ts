import { generateKeyPairSync } from 'node:crypto';
import type { ProblemCode } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import { keyOf, type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  const { publicKey } = generateKeyPairSync('x25519');
  const key = { ...Object.fromEntries(Object.entries(publicKey.export({ format: 'jwk' }))), kty: 'OKP' as const };
  world = await startWorld({
    payment: {},
    mcpServer: { limits: { elicitationsPerSubject: 100 } },
    otherMcpServers: [
      { id: 'sealed', encryption: { key, required: true } },
      { id: 'formless', kinds: ['confirmation'] },
    ],
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const subjectOf = (user: string) => ({ issuer: world.identityProvider.issuer, subject: user });
const NO_ID = `el_00${'a'.repeat(43)}`;
const NO_CREDENTIAL = `cr_00${'a'.repeat(43)}`;

describe('S44: every call of the new kinds answers as the contract says', () => {
  it.each(askedKinds)('%s: issue 201 and 200, read, redeem 200 and 409', async kind => {
    const user = world.subject();
    const subject = subjectOf(user);
    const ask = { ...askOfEach[kind].ask(), subject };
    const issue = () =>
      world.api.call<{ elicitationId: string; status: string; outcome?: unknown }>('POST', '/v1/elicitations', ask);
    const created = await issue();
    expect(created.status).toBe(201);
    expectInContract('issueElicitation', created);
    const { elicitationId } = created.body;
    const open = await issue();
    expect(open).toMatchObject({ status: 200, body: { elicitationId, status: 'pending' } });
    expectInContract('issueElicitation', open);
    const early = await world.api.redeem(elicitationId);
    expectInContract('redeemElicitation', early);
    expectProblem(early, 'not_redeemable');

    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId, askOfEach[kind].typed);
    const read = await world.api.read(elicitationId);
    expectInContract('readElicitation', read);
    expect(read.body).toMatchObject({ status: 'completed', outcome: { kind } });
    // A retried call finds the answer that was given and asks nobody again.
    const answered = await issue();
    expect(answered).toMatchObject({ status: 200, body: { elicitationId, status: 'completed' } });
    expectInContract('issueElicitation', answered);

    const headers = { 'idempotency-key': `redeem-${kind}` };
    const redeemed = await world.api.redeem(elicitationId, headers);
    expect(redeemed.status).toBe(200);
    expectInContract('redeemElicitation', redeemed);
    expect((await world.api.redeem(elicitationId, headers)).body).toEqual(redeemed.body);
    const second = await world.api.redeem(elicitationId, { 'idempotency-key': 'another' });
    expectInContract('redeemElicitation', second);
    expectProblem(second, 'already_redeemed');
    const after = await world.api.read(elicitationId);
    expectInContract('readElicitation', after);
    expect(after.body.redeemedAt).toBe(redeemed.body.redeemedAt);
    expect((await issue()).status).toBe(201);
  });

  it('redeem: sealed, 422 without a key, 400 with an unknown member, 404', async () => {
    const sealed = world.apiOf({ apiKey: keyOf('sealed') });
    const user = world.subject();
    const issued = await sealed.issue({ ...askOfEach.form.ask(), subject: subjectOf(user) });
    const { elicitationId } = issued.body;
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId, askOfEach.form.typed);
    const answer = await sealed.redeem(elicitationId);
    expectInContract('redeemElicitation', answer);
    expect(answer.body).toHaveProperty('sealedResult');
    const without = await world.api.redeem(NO_ID, {}, { sealed: true });
    expectInContract('redeemElicitation', without);
    expectProblem(without, 'encryption_key_not_registered');
    const unknown = await world.api.redeem(NO_ID);
    expectInContract('redeemElicitation', unknown);
    expectProblem(unknown, 'not_found');
    for (const body of [{ sealed: false }, { sealed: 1 }, { surprise: true }, [], 'x']) {
      const refused = await world.api.call('POST', `/v1/elicitations/${NO_ID}/redeem`, body);
      expectInContract('redeemElicitation', refused);
      expectProblem(refused, 'invalid_request');
    }
  });

  it('cancel: of a payment that the processor works on 409, of a closed one 200', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf());
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId);
    const sessionId = world.stripe.checkoutSessionsOf(elicitationId)[0]?.id ?? '';
    world.stripe.pay(sessionId, { settles: 'later' });
    const refused = await world.api.cancel(elicitationId);
    expectInContract('cancelElicitation', refused);
    expectProblem(refused, 'payment_in_progress');
    const inProgress = await world.api.redeem(elicitationId);
    expectProblem(inProgress, 'not_redeemable');
    world.stripe.settleLater(sessionId, 'failed');

    const other = world.subject();
    const open = await issueFor(world, other, paymentOf());
    await acceptWith(await visitorFor(world, other, open.elicitationId), open.elicitationId);
    const cancelled = await world.api.cancel(open.elicitationId);
    expect(cancelled.status).toBe(200);
    expectInContract('cancelElicitation', cancelled);
  });

  it('credentials: list, read, delete, and each of their refusals', async () => {
    const user = world.subject();
    const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
    await acceptWith(await visitorFor(world, user, elicitationId), elicitationId, { api_key: 'ak_0123456789' });
    const kept = await world.api.issue({ kind: 'credential', subject: subjectOf(user), credential });
    expect(kept.status).toBe(200);
    expectInContract('issueElicitation', kept);
    const credentialId = kept.body.outcome?.credentialId ?? '';

    const list = await world.api.credentials(subjectOf(user));
    expectInContract('listCredentials', list);
    expect(list.body.credentials).toHaveLength(1);
    const query = new URLSearchParams({ ...subjectOf(user), name: 'another' });
    const none = await world.api.call('GET', `/v1/credentials?${query}`);
    expectInContract('listCredentials', none);
    expect(none.body).toEqual({ credentials: [] });
    const foreign = await world.api.call('GET', '/v1/credentials?issuer=https://other.example&subject=a');
    expectInContract('listCredentials', foreign);
    expectProblem(foreign, 'issuer_not_allowed');

    const read = await world.api.credential(credentialId, { tool: 'a tool' });
    expectInContract('readCredential', read);
    const sealed = await world.api.credential(credentialId, { sealed: true });
    expectInContract('readCredential', sealed);
    expectProblem(sealed, 'encryption_key_not_registered');
    const missing = await world.api.credential(NO_CREDENTIAL);
    expectInContract('readCredential', missing);
    expectProblem(missing, 'not_found');

    const removed = await world.api.removeCredential(credentialId);
    expectInContract('removeCredential', removed);
    const again = await world.api.removeCredential(credentialId);
    expectInContract('removeCredential', again);
    expectProblem(again, 'not_found');
  });

  it.each<[ProblemCode, string, () => object]>([
    ['kind_not_allowed', 'formless', () => askOfEach.form.ask()],
    ['kind_not_allowed', 'formless', () => askOfEach.payment.ask()],
    ['processor_not_allowed', 'tracker', () => paymentOf({ processor: 'cash' })],
    ['currency_not_allowed', 'tracker', () => payment({ currency: 'USD', minorUnits: 1 })],
    ['amount_over_limit', 'tracker', () => payment({ currency: 'EUR', minorUnits: 100_001 })],
    ['invalid_request', 'tracker', () => ({ kind: 'payment', confirmation: { title: 'x' } })],
    ['invalid_request', 'tracker', () => ({ ...askOfEach.form.ask(), confirmation: { title: 'x' } })],
    ['invalid_request', 'tracker', () => ({ kind: 'gift', gift: {} })],
  ])('issue: %s (%s)', async (code, mcpServerId, ask) => {
    const api = world.apiOf({ apiKey: keyOf(mcpServerId) });
    const answer = await api.call('POST', '/v1/elicitations', { ...ask(), subject: subjectOf('alice') });
    expectInContract('issueElicitation', answer);
    expectProblem(answer, code);
  });

  it('an answer names every fault by its path', async () => {
    const answer = await world.api.call('POST', '/v1/elicitations', {
      kind: 'confirmation',
      subject: subjectOf('alice'),
      confirmation: {
        title: '',
        facts: [
          { type: 'host', label: 'x', value: 'A b' },
          { type: 'amount', label: 'x', value: 1 },
        ],
      },
    });
    expectProblem(answer, 'invalid_request');
    expect(answer.body).toMatchObject({
      errors: expect.arrayContaining(
        ['body.confirmation.title', 'body.confirmation.facts.0.value', 'body.confirmation.facts.1.value'].map(path =>
          expect.objectContaining({ path }),
        ),
      ),
    });
  });

  it('declined: the status says so and there is nothing to redeem', async () => {
    for (const kind of askedKinds) {
      const user = world.subject();
      const { elicitationId } = await askKind(world, user, kind);
      const raw = await visitorFor(world, user, elicitationId);
      await raw.post(`/e/${elicitationId}/decline`, { form: { csrf_token: await raw.csrfToken(elicitationId) } });
      expectInContract('readElicitation', await world.api.read(elicitationId));
      expectProblem(await world.api.redeem(elicitationId), 'not_redeemable');
    }
  });
});

function payment(amount: { currency: string; minorUnits: number }): object {
  return { kind: 'payment', payment: { payee: { name: 'Shop' }, reference: 'r', amount } };
}
