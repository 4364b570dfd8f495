import type { ProblemCode } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { type ExternalApplication, startExternalApplication } from '../support/external-application.ts';
import { connectAccount, declineOnPage } from '../support/person-at-gateway.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
let application: ExternalApplication;
beforeAll(async () => {
  application = await startExternalApplication();
  world = await startWorld({
    mcpServer: { returnUrls: ['https://app.example/back'], limits: { elicitationsPerSubject: 5, maxTtlSeconds: 3600 } },
    otherMcpServers: [
      { id: 'app', identity: { mode: 'external', verifyUrl: application.verifyUrl } },
      { id: 'nothing', providers: [] },
    ],
  });
  application.connect(world, 'app');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await application?.[Symbol.asyncDispose]();
});

const NO_ID = `el_00${'a'.repeat(43)}`;
const NO_CONNECTION = `cn_00${'a'.repeat(43)}`;

describe('every call answers as the contract says', () => {
  it('issue: 201, then 200 for the same ask, then 200 completed, with the token over the API', async () => {
    const subject = world.subject();
    const ask = askFor(world, subject, { requestedBy: { mcpClient: 'Host', tool: 'list' } });
    const created = await world.api.issue(ask);
    expect(created.status).toBe(201);
    expectInContract('issueElicitation', created);
    expect(created.body.url).toBe(`${world.publicUrl}/e/${created.body.elicitationId}`);
    const open = await world.api.issue(ask);
    expect(open).toMatchObject({ status: 200, body: { elicitationId: created.body.elicitationId, status: 'pending' } });
    expectInContract('issueElicitation', open);

    await connectAccount(world.raw(), created.body.elicitationId, subject);
    const read = await world.api.read(created.body.elicitationId);
    expectInContract('readElicitation', read);
    expect(read.body).toMatchObject({ status: 'completed', outcome: { kind: 'authorization', provider: 'forge' } });
    const served = await world.api.issue(ask);
    expect(served).toMatchObject({ status: 200, body: { status: 'completed', outcome: read.body.outcome } });
    expectInContract('issueElicitation', served);

    const query = new URLSearchParams({ issuer: world.identityProvider.issuer, subject });
    const list = await world.api.call<{ connections: { connectionId: string }[] }>('GET', `/v1/connections?${query}`);
    expectInContract('listConnections', list);
    expect(list.body.connections).toHaveLength(1);
    const other = await world.api.call<{ connections: [] }>('GET', `/v1/connections?${query}&provider=elsewhere`);
    expect(other.body.connections).toEqual([]);

    const token = await world.api.accessToken(list.body.connections[0]?.connectionId ?? '');
    expect(token).toMatchObject({ status: 200, body: { tokenType: 'Bearer' } });
    expectInContract('getAccessToken', token);
  });

  it('cancel: 200, again 200 as it is; a declined one 409', async () => {
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

  it('verify: 200, the wrong person 403, an unknown verification 409, a server that signs people in itself 422', async () => {
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

  it('cancel of an answer that is being verified: 409', async () => {
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
});

describe('every refusal has its code', () => {
  const ask = (overrides: object) => ({ ...askFor(world, world.subject()), ...overrides });
  const authorization = (overrides: object) => ask({ authorization: { provider: 'forge', ...overrides } });

  it.each<[ProblemCode, () => unknown]>([
    ['invalid_request', () => ({})],
    ['invalid_request', () => ask({ unknown: 1 })],
    ['invalid_request', () => ask({ message: 'a\u202eb' })],
    ['invalid_request', () => ask({ kind: 'payment' })],
    ['provider_not_allowed', () => authorization({ provider: 'elsewhere' })],
    ['issuer_not_allowed', () => ask({ subject: { issuer: 'https://other.example', subject: 'a' } })],
    ['return_url_not_registered', () => ask({ returnUrl: 'https://app.example/back/' })],
    ['return_url_not_registered', () => ask({ returnUrl: 'https://app.example/back?x' })],
    ['scope_not_allowed', () => authorization({ scopes: ['admin'] })],
    ['resource_not_allowed', () => authorization({ resource: 'https://api.example' })],
    ['subject_token_invalid', () => ask({ subject: { accessToken: 'opaque' } })],
  ])('issue: %s', async (code, body) => {
    const answer = await world.api.call('POST', '/v1/elicitations', body());
    expectInContract('issueElicitation', answer);
    expectProblem(answer, code);
  });

  it('issue: the registered return URL, and a lifetime that the operator shortens', async () => {
    const answer = await world.api.issue(
      askFor(world, world.subject(), { returnUrl: 'https://app.example/back', ttlSeconds: 86_400 }),
    );
    expect(answer.status).toBe(201);
    expect(Date.parse(answer.body.expiresAt) - Date.parse(answer.body.createdAt)).toBe(3_600_000);
  });

  it('issue: an MCP server without providers', async () => {
    const answer = await world.apiOf({ apiKey: keyOf('nothing') }).issue(askFor(world, world.subject()));
    expectProblem(answer, 'provider_not_allowed');
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

  it('any call: without a valid credential, alike for all reasons', async () => {
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
});
