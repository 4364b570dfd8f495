import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { acceptWith, deletion, issueFor, visitorFor } from '../support/asks.ts';
import { askPerson } from '../support/payment-person.ts';
import { ownLinksIn, type RawAnswer } from '../support/raw-browser.ts';
import { dumpStore } from '../support/store-dump.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const fileSchema = z.strictObject({ receipt: z.string(), keySet: z.url() });

let world: PayingWorld;
let folder: string;
beforeAll(async () => {
  world = await startWorld({ payment: {}, mcpServer: { confirmation: {} } });
  // What `npm install @postern/mcp` would do.
  folder = mkdtempSync(join(tmpdir(), 'postern-receipts-'));
  mkdirSync(join(folder, 'node_modules/@postern'), { recursive: true });
  symlinkSync(join(root, 'packages/mcp'), join(folder, 'node_modules/@postern/mcp'));
  const program = /```js\n(.*?)```/s.exec(readFileSync(join(root, 'docs/receipts.md'), 'utf8'))?.[1] ?? '';
  writeFileSync(join(folder, 'verify-receipt.mjs'), program);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** Runs the documented command. */
async function verify(file: string, issuer = world.publicUrl, mcpServerId = 'tracker') {
  writeFileSync(join(folder, 'receipt.json'), file);
  const { stdout } = await run(process.execPath, ['verify-receipt.mjs', 'receipt.json', issuer, mcpServerId], {
    cwd: folder,
  });
  return JSON.parse(stdout);
}

async function confirmed() {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
  const raw = await visitorFor(world, user, elicitationId);
  const before = await raw.get(`/e/${elicitationId}/receipt`);
  await acceptWith(raw, elicitationId);
  return { user, elicitationId, raw, before };
}

/** Everything that could tell one refusal from another. */
const seen = ({ status, headers, body, setCookies }: RawAnswer) => {
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  const names = Object.keys(others).filter(name => !name.startsWith('x-ratelimit'));
  return { status, names, body: body.replaceAll(/\/e\/[\w-]+\//g, '/e/…/'), setCookies: setCookies.length };
};

describe('S106: the receipt of an approval', () => {
  it('is linked from the last page and from the history, and the documented command verifies the file', async () => {
    const { user, elicitationId, raw } = await confirmed();
    const path = `/e/${elicitationId}/receipt`;
    for (const from of [`/e/${elicitationId}`, '/me/history'])
      expect(ownLinksIn(await raw.get(from)), from).toContain(path);
    const page = await raw.get(path);
    expect(page.status).toBe(200);
    expect(page.body).toContain('postern/attic');
    expect(page.body).toContain('Confirm: <bdi>Delete repository</bdi>');
    expect(ownLinksIn(page)).toContain(`${path}.json`);

    const answer = await raw.get(`${path}.json`);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="receipt-${elicitationId}.json"`,
      'cache-control': 'no-store',
    });
    const { receipt, keySet } = fileSchema.parse(JSON.parse(answer.body));
    expect(keySet).toBe(`${world.publicUrl}/.well-known/jwks.json`);
    expect(await verify(answer.body)).toMatchObject({
      iss: world.publicUrl,
      aud: 'tracker',
      jti: elicitationId,
      kind: 'confirmation',
      sub_id: { sub: user },
      terms: { title: deletion.title, action: deletion.action },
    });
    // Reading it consumes nothing: the MCP server gets the same receipt, once.
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({ receipt });

    const [head = '', payload = '', signature = ''] = receipt.split('.');
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), jti: 'el_another' };
    const forged = [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
    await expect(verify(JSON.stringify({ receipt: forged, keySet }))).rejects.toThrow();
    await expect(verify(answer.body, world.publicUrl, 'notes')).rejects.toThrow();
  });

  it('of a payment that a processor took says so', async () => {
    const person = await askPerson(world);
    await person.approve();
    expect((await person.raw.get(`${person.page}/receipt`)).status).toBe(404);
    world.stripe.pay(world.stripe.checkoutSessionsOf(person.elicitationId)[0]?.id ?? '');
    await person.comeBack();
    const page = await person.raw.get(`${person.page}/receipt`);
    expect([page.status, ownLinksIn(page)]).toEqual([200, expect.arrayContaining([`${person.page}/receipt.json`])]);
    const file = await person.raw.get(`${person.page}/receipt.json`);
    // Stripe is in test mode here, and no money has moved.
    await expect(verify(file.body)).rejects.toThrow('test_payment');
    const { receipt } = fileSchema.parse(JSON.parse(file.body));
    const claims = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString());
    expect(claims).toMatchObject({ kind: 'payment', processor: 'stripe-main', jti: person.elicitationId });
    expect((await world.api.redeem(person.elicitationId)).body).toMatchObject({ receipt });
  });

  it('answers everyone else, and everything that was not approved, as an unknown id, and writes nothing', async () => {
    const { elicitationId, raw, before } = await confirmed();
    const stranger = await confirmed();
    const another = { ...deletion, title: 'Delete another one' };
    const declined = await issueFor(world, stranger.user, { kind: 'confirmation', confirmation: another });
    await stranger.raw.post(`/e/${declined.elicitationId}/decline`, {
      form: { csrf_token: await stranger.raw.csrfToken(declined.elicitationId) },
    });
    expect((await raw.get(`/e/${elicitationId}/receipt`)).status).toBe(200);
    const dump = await dumpStore(world);
    for (const [browser, ids] of [
      [stranger.raw, [elicitationId, declined.elicitationId]],
      [world.raw(), [elicitationId, declined.elicitationId]],
    ] as const)
      for (const name of ['receipt', 'receipt.json'])
        for (const method of ['GET', 'HEAD']) {
          const unknown = seen(await browser.request(method, `/e/el_0a${'A'.repeat(43)}/${name}`));
          expect(unknown.status).toBe(404);
          for (const id of [...ids, 'x'])
            expect(seen(await browser.request(method, `/e/${id}/${name}`)), `${method} ${name}`).toEqual(unknown);
        }
    expect(before.status).toBe(404);
    expect(await dumpStore(world)).toEqual(dump);
  });
});
