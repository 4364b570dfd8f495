import { generateKeyPairSync } from 'node:crypto';
import type { ProblemCode } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { allKinds, approve, askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import { type ExternalApplication, startExternalApplication } from '../support/external-application.ts';
import { declineOnPage } from '../support/person-at-gateway.ts';
import { askFor, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
let application: ExternalApplication;
beforeAll(async () => {
  const { publicKey } = generateKeyPairSync('x25519');
  const key = { ...Object.fromEntries(Object.entries(publicKey.export({ format: 'jwk' }))), kty: 'OKP' as const };
  application = await startExternalApplication();
  world = await startWorld({
    payment: {},
    mcpServer: { returnUrls: ['https://app.example/back'], limits: { elicitationsPerSubject: 5, maxTtlSeconds: 3600 } },
    otherMcpServers: [
      { id: 'app', identity: { mode: 'external', verifyUrl: application.verifyUrl } },
      { id: 'sealed', encryption: { key, required: true } },
      { id: 'formless', kinds: ['confirmation'] },
      { id: 'nothing', providers: [] },
    ],
  });
  application.connect(world, 'app');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await application?.[Symbol.asyncDispose]();
});

const subjectOf = (user: string) => ({ issuer: world.identityProvider.issuer, subject: user });
const NO_ID = `el_00${'a'.repeat(43)}`;
const NO_CONNECTION = `cn_00${'a'.repeat(43)}`;
const NO_CREDENTIAL = `cr_00${'a'.repeat(43)}`;

describe('S44: every response conforms to the contract', () => {
  it.each(allKinds)('%s: issue 201 and 200, read, and 200 completed for a repeated call', async kind => {
    const user = world.subject();
    const ask = {
      ...(kind === 'authorization' ? askFor(world, user) : askOfEach[kind].ask()),
      subject: subjectOf(user),
      requestedBy: { mcpClient: 'Host', tool: 'list' },
    };
    const issue = () =>
      world.api.call<{ elicitationId: string; url: string; outcome?: unknown }>('POST', '/v1/elicitations', ask);
    const created = await issue();
    expect(created.status).toBe(201);
    expectInContract('issueElicitation', created);
    const { elicitationId, url } = created.body;
    expect(url).toBe(`${world.publicUrl}/e/${elicitationId}`);
    const open = await issue();
    expect(open).toMatchObject({ status: 200, body: { elicitationId, status: 'pending' } });
    expectInContract('issueElicitation', open);
    const early = await world.api.redeem(elicitationId);
    expectInContract('redeemElicitation', early);
    expectProblem(early, 'not_redeemable');

    await approve(await visitorFor(world, user, elicitationId), elicitationId, kind);
    const read = await world.api.read(elicitationId);
    expectInContract('readElicitation', read);
    expect(read.body).toMatchObject({ status: 'completed', outcome: { kind } });
    // A retried call gets the stored outcome without asking the user again.
    const answered = await issue();
    expect(answered).toMatchObject({ status: 200, body: { status: 'completed', outcome: read.body.outcome } });
    expectInContract('issueElicitation', answered);
  });

  it.each(askedKinds)('%s: redeem 200 and 409, then issue 201', async kind => {
    const user = world.subject();
    const { elicitationId } = await askKind(world, user, kind);
    await approve(await visitorFor(world, user, elicitationId), elicitationId, kind);
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
    // After redemption the same terms start a new elicitation.
    expect((await askKind(world, user, kind)).elicitationId).not.toBe(elicitationId);
  });

  it('connections and tokens: 200', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    await approve(await visitorFor(world, user, elicitationId), elicitationId, 'authorization');
    const query = new URLSearchParams(subjectOf(user));
    const list = await world.api.call<{ connections: { connectionId: string }[] }>('GET', `/v1/connections?${query}`);
    expectInContract('listConnections', list);
    expect(list.body.connections).toHaveLength(1);
    const other = await world.api.call<{ connections: [] }>('GET', `/v1/connections?${query}&provider=elsewhere`);
    expect(other.body.connections).toEqual([]);
    const token = await world.api.accessToken(list.body.connections[0]?.connectionId ?? '');
    expect(token).toMatchObject({ status: 200, body: { tokenType: 'Bearer' } });
    expectInContract('getAccessToken', token);
    const lie = await world.api.accessToken(list.body.connections[0]?.connectionId ?? '', { tool: 'C\u043ede Forge' });
    expectInContract('getAccessToken', lie);
    expectProblem(lie, 'confusable_name');
  });

  it('cancel: 200, repeated 200 unchanged; a declined one 409', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    const cancelled = await world.api.cancel(elicitationId);
    expectInContract('cancelElicitation', cancelled);
    const again = await world.api.cancel(elicitationId);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(cancelled.body);
    const next = await world.ask(subject);
    await declineOnPage(world.raw(), next.elicitationId, subject);
    const late = await world.api.cancel(next.elicitationId);
    expectInContract('cancelElicitation', late);
    expectProblem(late, 'already_ended');
  });

  it('verify: 200, the wrong person 403, an unknown verification 409, an MCP server with another identity mode 422', async () => {
    const subject = world.subject();
    const api = world.apiOf({ apiKey: keyOf('app') });
    const { body } = await api.issue(askFor(world, subject));
    const browser = world.raw();
    const opened = new URL((await browser.get(`/login?e=${body.elicitationId}`)).location ?? '');
    const verify = (person: string, verificationId = opened.searchParams.get('verificationId') ?? '') => ({
      verificationId,
      subject: { issuer: world.identityProvider.issuer, subject: person },
      authTime: 1,
    });
    const path = `/v1/elicitations/${body.elicitationId}/verify`;
    const wrong = await api.call('POST', path, verify('bob'));
    expectInContract('verifyElicitation', wrong);
    expectProblem(wrong, 'wrong_person');
    const unknown = await api.call('POST', path, verify(subject, 'nonsense'));
    expectInContract('verifyElicitation', unknown);
    expectProblem(unknown, 'verification_unknown');
    const verified = await api.call<{ continueUrl: string }>('POST', path, verify(subject));
    expectInContract('verifyElicitation', verified);
    expect(new URL(verified.body.continueUrl).origin).toBe(world.publicUrl);
    await api.cancel(body.elicitationId);
    expectProblem(await api.call('POST', path, verify(subject)), 'already_ended');

    const { elicitationId } = await world.ask(world.subject());
    const mode = await world.api.call('POST', `/v1/elicitations/${elicitationId}/verify`, verify(subject));
    expectInContract('verifyElicitation', mode);
    expectProblem(mode, 'identity_mode_mismatch');
  });

  it('cancel during a verification: 409', async () => {
    const subject = world.subject();
    const api = world.apiOf({ apiKey: keyOf('app') });
    const { body } = await api.issue(askFor(world, subject));
    const browser = world.raw();
    const opened = new URL((await browser.get(`/login?e=${body.elicitationId}`)).location ?? '');
    const { body: verified } = await application.verify({
      elicitationId: body.elicitationId,
      verificationId: opened.searchParams.get('verificationId') ?? '',
      subject,
    });
    await browser.get(new URL(verified.continueUrl ?? ''));
    await browser.get(await browser.decideAtProvider(await browser.accept(body.elicitationId), 'alice'));
    expect((await api.read(body.elicitationId)).body.status).toBe('verifying');
    const cancelled = await api.cancel(body.elicitationId);
    expectInContract('cancelElicitation', cancelled);
    expectProblem(cancelled, 'illegal_transition');
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

  it('cancel: of a payment that the processor is processing 409, of a closed one 200', async () => {
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

  it('credentials: list, read and delete, and each of their errors', async () => {
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
    const lie = await world.api.credential(credentialId, { tool: 'C\u043ede Forge' });
    expectInContract('readCredential', lie);
    expectProblem(lie, 'confusable_name');
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

  it('declined: the status is declined and redeem is refused', async () => {
    for (const kind of askedKinds) {
      const user = world.subject();
      const { elicitationId } = await askKind(world, user, kind);
      await declineOnPage(world.raw(), elicitationId, user);
      expectInContract('readElicitation', await world.api.read(elicitationId));
      expectProblem(await world.api.redeem(elicitationId), 'not_redeemable');
    }
  });
});

describe('every error has its code', () => {
  const ask = (overrides: object) => ({ ...askFor(world, world.subject()), ...overrides });
  const asked = (body: object) => ({ ...body, subject: subjectOf('alice') });
  const payment = (amount: { currency: string; minorUnits: number }) =>
    asked({ kind: 'payment', payment: { payee: { name: 'Book Shop' }, reference: 'r', amount } });
  const authorization = (overrides: object) => ask({ authorization: { provider: 'forge', ...overrides } });

  it.each<[ProblemCode, string, () => object]>([
    ['invalid_request', 'tracker', () => ({})],
    ['invalid_request', 'tracker', () => ask({ unknown: 1 })],
    ['invalid_request', 'tracker', () => ask({ message: 'a\u202eb' })],
    ['invalid_request', 'tracker', () => ask({ kind: 'payment' })],
    ['provider_not_allowed', 'tracker', () => authorization({ provider: 'elsewhere' })],
    ['issuer_not_allowed', 'tracker', () => ask({ subject: { issuer: 'https://other.example', subject: 'a' } })],
    ['return_url_not_registered', 'tracker', () => ask({ returnUrl: 'https://app.example/back/' })],
    ['return_url_not_registered', 'tracker', () => ask({ returnUrl: 'https://app.example/back?x' })],
    ['scope_not_allowed', 'tracker', () => authorization({ scopes: ['admin'] })],
    ['resource_not_allowed', 'tracker', () => authorization({ resource: 'https://api.example' })],
    ['subject_token_invalid', 'tracker', () => ask({ subject: { accessToken: 'opaque' } })],
    ['provider_not_allowed', 'nothing', () => ask({})],
    ['kind_not_allowed', 'formless', () => asked(askOfEach.form.ask())],
    ['kind_not_allowed', 'formless', () => asked(askOfEach.payment.ask())],
    ['processor_not_allowed', 'tracker', () => asked(paymentOf({ processor: 'cash' }))],
    ['currency_not_allowed', 'tracker', () => payment({ currency: 'USD', minorUnits: 1 })],
    ['amount_over_limit', 'tracker', () => payment({ currency: 'EUR', minorUnits: 100_001 })],
    ['confusable_name', 'tracker', () => ask({ message: 'Sign in at C\u043ede Forge' })],
    ['confusable_name', 'tracker', () => asked(paymentOf({ payee: { name: '\uff30ostern' }, processor: 'none' }))],
    ['payee_not_registered', 'tracker', () => asked(paymentOf({ payee: { name: 'Evil Shop' } }))],
    ['payment_not_possible', 'tracker', () => payment({ currency: 'EUR', minorUnits: 49 })],
    ['invalid_request', 'tracker', () => asked({ kind: 'payment', confirmation: { title: 'x' } })],
    ['invalid_request', 'tracker', () => asked({ ...askOfEach.form.ask(), confirmation: { title: 'x' } })],
    ['invalid_request', 'tracker', () => asked({ kind: 'gift', gift: {} })],
  ])('issue: %s (%s)', async (code, mcpServerId, body) => {
    const api = world.apiOf({ apiKey: keyOf(mcpServerId) });
    const answer = await api.call('POST', '/v1/elicitations', body());
    expectInContract('issueElicitation', answer);
    expectProblem(answer, code);
  });

  it('issue: accepts the registered return URL and applies the operator’s shorter lifetime', async () => {
    const answer = await world.api.issue(
      askFor(world, world.subject(), { returnUrl: 'https://app.example/back', ttlSeconds: 86_400 }),
    );
    expect(answer.status).toBe(201);
    expect(Date.parse(answer.body.expiresAt) - Date.parse(answer.body.createdAt)).toBe(3_600_000);
  });

  it('issue: too many for one subject', async () => {
    const subject = world.subject();
    for (let round = 0; round < 5; round += 1) await world.api.cancel((await world.ask(subject)).elicitationId);
    const answer = await world.api.issue(askFor(world, subject));
    expectInContract('issueElicitation', answer);
    expectProblem(answer, 'too_many_elicitations');
  });

  it('read, cancel, verify, token: not found', async () => {
    expectProblem(await world.api.read(NO_ID), 'not_found');
    expectProblem(await world.api.cancel(NO_ID), 'not_found');
    expectProblem(await world.api.accessToken(NO_CONNECTION), 'not_found');
    const verify = { verificationId: 'x', subject: { issuer: 'i', subject: 's' } };
    const api = world.apiOf({ apiKey: keyOf('app') });
    expectProblem(await api.call('POST', `/v1/elicitations/${NO_ID}/verify`, verify), 'not_found');
  });

  it('list: an issuer that is not allowed', async () => {
    const answer = await world.api.call('GET', '/v1/connections?issuer=https://other.example&subject=a');
    expectInContract('listConnections', answer);
    expectProblem(answer, 'issuer_not_allowed');
  });

  it('any call: without a valid credential, the same response for all reasons', async () => {
    const bodies = new Set<string>();
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      'Basic abc',
      `Bearer ${'x'.repeat(5000)}`,
      'Bearer a b',
    ]) {
      const answer = await world.api.call<{ requestId: string }>('GET', `/v1/elicitations/${NO_ID}`, undefined, {
        authorization,
      });
      expectProblem(answer, 'unauthenticated');
      bodies.add(JSON.stringify({ ...answer.body, requestId: '' }));
    }
    expect(bodies.size).toBe(1);
  });

  it('a 400 names every invalid member by its path', async () => {
    const answer = await world.api.call('POST', '/v1/elicitations', {
      kind: 'confirmation',
      subject: subjectOf('alice'),
      confirmation: {
        title: '',
        action: 'x'.repeat(31),
        facts: [
          { type: 'host', label: 'x', value: 'A b' },
          { type: 'amount', label: 'x', value: 1 },
        ],
      },
    });
    expectProblem(answer, 'invalid_request');
    expect(answer.body).toMatchObject({
      errors: expect.arrayContaining(
        ['title', 'action', 'facts.0.value', 'facts.1.value'].map(member =>
          expect.objectContaining({ path: `body.confirmation.${member}` }),
        ),
      ),
    });
  });
});
