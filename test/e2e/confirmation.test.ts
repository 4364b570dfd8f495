import { argumentsDigest } from '@postern/mcp';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, issueFor, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

const deletionCall = {
  ...deletion,
  arguments:
    '{"repo":"postern/\u200battic","10":1.0,"force":[true,12345678901234567890],"auth":{"user":"alice","api_key":"canary-1","pin":["canary-2"]},"isNew":null}',
};

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

  it('shows the arguments of the call, hides secrets by their names, and binds both', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation: deletionCall });
    const raw = await visitorFor(world, user, elicitationId);
    const sectionOf = (body: string) => /<section class="statement sent".*?<\/section>/s.exec(body)?.[0] ?? '';
    const { body } = await raw.get(`/e/${elicitationId}`);
    const names = [...sectionOf(body).matchAll(/<dt><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name);
    expect(names).toEqual(['repo', '10', 'force', 'auth', 'user', 'api_key', 'pin', 'isNew']);
    for (const shown of [
      'postern/<span class="unseen-code"',
      '1.0',
      '12345678901234567890',
      'U+200B',
      '>alice<',
      '>true<',
    ])
      expect(sectionOf(body)).toContain(shown);
    expect(sectionOf(body).match(/class="hidden-value"/g)).toHaveLength(2);
    await acceptWith(raw, elicitationId);
    const { outcome } = (await world.api.read(elicitationId)).body;
    const { receipt } = (await world.api.redeem(elicitationId)).body;
    expect(decodeJwt(receipt ?? '')).toMatchObject({
      digest: (outcome as { digest?: string }).digest,
      terms: { title: deletion.title, argumentsDigest: argumentsDigest(deletionCall.arguments) },
    });
    const after = await raw.get(`/e/${elicitationId}`);
    const page = await raw.get(`/e/${elicitationId}/receipt`);
    expect([after, page].map(({ status, body }) => [status, sectionOf(body) === sectionOf(after.body)])).toEqual([
      [200, true],
      [200, true],
    ]);
    for (const text of [body, after.body, page.body, receipt ?? '', world.log()]) expect(text).not.toContain('canary');
  });

  it.each<[string, unknown]>([
    ['a list', '[]'],
    ['a repeated name', '{"canary":1,"canary":2}'],
    ['more than 24 KiB', `{"a":"${'x'.repeat(24 * 1024)}"}`],
    ['an object', {}],
  ])('refuses %s as arguments, and does not repeat it', async (_, text) => {
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    const confirmation = { ...deletion, arguments: text };
    const answer = await world.api.call<{ errors?: { path: string }[] }>('POST', '/v1/elicitations', {
      kind: 'confirmation',
      subject,
      confirmation,
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors?.map(({ path }) => path)).toEqual(['body.confirmation.arguments']);
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  });

  it('takes the longest arguments, whatever must be escaped in them', async () => {
    const longest = `{"a":"${'\\"'.repeat((24 * 1024 - 8) / 2)}"}`;
    expect(longest).toHaveLength(24 * 1024);
    const user = world.subject();
    const confirmation = { ...deletion, arguments: longest };
    const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation });
    const raw = await visitorFor(world, user, elicitationId);
    expect((await raw.get(`/e/${elicitationId}`)).body.match(/&#34;/g)?.length).toBeGreaterThanOrEqual(12_000);
    expect((await acceptWith(raw, elicitationId)).status).toBe(303);
  });
});
