import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IssueElicitationInput } from '@postern/api';
import { compactDecrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ApiToCheck, startApiToCheck } from '../support/api-to-check.ts';
import { acceptWith, visitorFor } from '../support/asks.ts';
import { type RawBrowser, unescapeHtml } from '../support/raw-browser.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { type Api, keyOf, startWorld, type World } from '../support/world.ts';

type CredentialInput = Extract<IssueElicitationInput, { kind: 'credential' }>['credential'];

const { privateKey, publicKey } = generateKeyPairSync('x25519');
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as JWK;
const encryptionKey = {
  ...Object.fromEntries(Object.entries(jwkOf(publicKey))),
  kty: 'OKP' as const,
  kid: 'to-sealed',
};

let world: World;
let api: ApiToCheck;
beforeAll(async () => {
  api = await startApiToCheck();
  const credentialChecks = {
    'by-bearer': { url: api.url, bearer: 'key' },
    'by-basic': { url: api.url, basic: { username: 'username', password: 'password' } },
    'by-header': { url: api.url, method: 'POST', header: { name: 'X-Api-Key', field: 'key' } },
  } as const;
  world = await startWorld({
    mcpServer: { credentialChecks, limits: { elicitationsPerSubject: 1000 } },
    otherMcpServers: [
      { id: 'friend', group: 'family' },
      { id: 'sibling', group: 'family' },
      { id: 'sealed', encryption: { key: encryptionKey, required: true } },
      { id: 'sealable', encryption: { key: encryptionKey } },
    ],
    config: { outbound: { timeoutSeconds: 1 } },
  });
});
afterEach(() => api.release());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const apiOf = (id: string) => world.apiOf({ apiKey: keyOf(id) });
const subjectOf = (user: string) => ({ issuer: world.identityProvider.issuer, subject: user });

async function asked(user: string, credential: CredentialInput, as: Api = world.api) {
  const issued = await as.issue({ kind: 'credential', subject: subjectOf(user), credential });
  if (issued.status !== 201) throw new Error(`not issued: ${issued.status} ${issued.body.code ?? ''}`);
  const { elicitationId } = issued.body;
  return { elicitationId, raw: await visitorFor(world, user, elicitationId) };
}

async function typed(
  user: string,
  credential: CredentialInput,
  values: Record<string, string>,
  as: Api = world.api,
): Promise<{ elicitationId: string; raw: RawBrowser; credentialId: string }> {
  const one = await asked(user, credential, as);
  const { status } = await acceptWith(one.raw, one.elicitationId, values);
  if (status !== 303) throw new Error(`not taken: ${status}`);
  return { ...one, credentialId: (await as.read(one.elicitationId)).body.outcome?.credentialId ?? '' };
}

const apiKey: CredentialInput = { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] };
const lasting: CredentialInput = { ...apiKey, retention: 'lasting' };
const basic: CredentialInput = {
  name: 'by-basic',
  title: 'Account',
  fields: [
    { name: 'username', label: 'User', secret: false },
    { name: 'password', label: 'Password' },
  ],
};

describe('a typed value arrives unchanged', () => {
  it.each<[string, string]>([
    ['spaces within', 'a  b   c'],
    ['letters of many scripts', 'пароль-密码-كلمة-🔑'],
    ['markup', '<b>&amp;"\'</b>'],
    ['the delimiters of form encodings', 'a=b&c=d%20+;#?'],
    ['a long one', 'x'.repeat(4096)],
    ['names of inherited object members', '__proto__'],
  ])('%s', async (_, value) => {
    const { elicitationId } = await typed(world.subject(), apiKey, { key: value });
    expect((await world.api.redeem(elicitationId)).body.values).toEqual({ key: value });
  });

  it('a multi-line private key arrives byte for byte', async () => {
    const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
    const fields = [{ name: 'pem', label: 'Private key', multiline: true }];
    // Browsers send line breaks as CRLF, whatever was pasted (HTML, form submission).
    const asSent = String(pem).replaceAll('\n', '\r\n');
    const { elicitationId } = await typed(world.subject(), { ...apiKey, fields }, { pem: asSent });
    expect(`${(await world.api.redeem(elicitationId)).body.values?.['pem']}\n`).toBe(String(pem));
  });

  it('each field follows its own rules, and no value is accepted until all are valid', async () => {
    const fields = [
      { name: 'account', label: 'Account', secret: false, pattern: '[0-9]{6}' },
      { name: 'key', label: 'Key', maxLength: 8 },
      { name: 'note', label: 'Note' },
    ];
    const { elicitationId, raw } = await asked(world.subject(), { ...apiKey, fields });
    const before = await storedElicitation(world, elicitationId);
    const faulty: readonly (readonly [string, Record<string, string>])[] = [
      ['account', { account: '12345', key: 'k', note: 'n' }],
      ['account', { account: '1234567', key: 'k', note: 'n' }],
      ['key', { account: '123456', key: 'k'.repeat(9), note: 'n' }],
      ['note', { account: '123456', key: 'k', note: '' }],
      ['note', { account: '123456', key: 'k', note: '  \n ' }],
      ['note', { account: '123456', key: 'k' }],
    ];
    for (const [name, values] of faulty) {
      const page = await acceptWith(raw, elicitationId, values);
      expect(page.status).toBe(422);
      expect([...page.body.matchAll(/id="fault-([a-z]+)"/g)].map(([, fault]) => fault)).toEqual([name]);
    }
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
    await acceptWith(raw, elicitationId, { account: ' 123456 ', key: 'k', note: 'n', 'other.field': 'ignored' });
    expect((await world.api.redeem(elicitationId)).body.values).toEqual({ account: '123456', key: 'k', note: 'n' });
  });

  it('a pattern that backtracks catastrophically elsewhere is evaluated in linear time', async () => {
    const fields = [{ name: 'key', label: 'Key', pattern: '(a+)+b' }];
    const { elicitationId, raw } = await asked(world.subject(), { ...apiKey, fields });
    expect((await acceptWith(raw, elicitationId, { key: 'a'.repeat(4000) })).status).toBe(422);
  });

  it.each(['(', '(?<=a)b', '\\1', '[z-a]'])('the pattern %s is refused at issue', async pattern => {
    const fields = [
      { name: 'a', label: 'A' },
      { name: 'key', label: 'Key', pattern },
    ];
    const answer = await world.api.call('POST', '/v1/elicitations', {
      kind: 'credential',
      subject: subjectOf('alice'),
      credential: { ...apiKey, fields },
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'body.credential.fields.1.pattern' }] } });
  });
});

describe('the live check: no value is accepted before it passes', () => {
  const accepted = {
    'by-bearer': 'Bearer good-key',
    'by-basic': `Basic ${Buffer.from('al:go:od').toString('base64')}`,
    'by-header': 'good-key',
  };
  const checked = (name: keyof typeof accepted): CredentialInput => (name === 'by-basic' ? basic : { ...apiKey, name });
  const good = (name: keyof typeof accepted): Record<string, string> =>
    name === 'by-basic' ? { username: 'al', password: 'go:od' } : { key: 'good-key' };
  const bad = (name: keyof typeof accepted): Record<string, string> =>
    name === 'by-basic' ? { username: 'al', password: 'bad' } : { key: 'bad-key' };
  const ways = Object.keys(accepted) as (keyof typeof accepted)[];
  const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

  it.each(ways)('%s: refused, then accepted', async name => {
    api.accepts = accepted[name];
    const { elicitationId, raw } = await asked(world.subject(), checked(name));
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('localhost');
    const refused = await acceptWith(raw, elicitationId, bad(name));
    expect(refused.status).toBe(422);
    expect([await statusOf(elicitationId), (await world.api.redeem(elicitationId)).body.code]).toEqual([
      'pending',
      'not_redeemable',
    ]);
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('class="notice"');
    expect(await acceptWith(raw, elicitationId, good(name))).toMatchObject({ status: 303 });
    expect((await world.api.redeem(elicitationId)).body.values).toEqual(good(name));
    expect(api.asked.at(-1)).toMatchObject(
      name === 'by-header'
        ? { method: 'POST', apiKey: 'good-key', authorization: undefined }
        : { method: 'GET', authorization: accepted[name] },
    );
  });

  it.each([500, 503, 404, 429, 302, 'redirect', 'break', 'hang'] as const)(
    'an inconclusive response (%s) leads to a later retry',
    async answer => {
      api.accepts = accepted['by-bearer'];
      const { elicitationId, raw } = await asked(world.subject(), checked('by-bearer'));
      const before = api.asked.length;
      api.answerNext(answer);
      expect((await acceptWith(raw, elicitationId, good('by-bearer'))).status).toBe(422);
      expect(await statusOf(elicitationId)).toBe('pending');
      // The redirect was not followed with the secret.
      expect(api.asked.length).toBe(before + 1);
      expect(await acceptWith(raw, elicitationId, good('by-bearer'))).toMatchObject({ status: 303 });
    },
  );

  it('nothing is stored during a check, and a decision made meanwhile is final', async () => {
    api.accepts = accepted['by-bearer'];
    const { elicitationId, raw } = await asked(world.subject(), checked('by-bearer'));
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    api.answerNext('hang');
    const reached = api.hanging();
    const sending = acceptWith(raw, elicitationId, good('by-bearer'));
    await reached;
    expect(await statusOf(elicitationId)).toBe('active');
    expect((await world.api.redeem(elicitationId)).body.code).toBe('not_redeemable');
    expect(JSON.stringify(await storedElicitation(world, elicitationId))).not.toContain('good-key');
    expect(await raw.post(`/e/${elicitationId}/decline`, { form })).toMatchObject({ status: 303 });
    api.release();
    expect((await sending).status).toBe(303);
    expect(await statusOf(elicitationId)).toBe('declined');
    expect((await world.api.redeem(elicitationId)).body.code).toBe('not_redeemable');
  });

  it('a check that passes after the cancellation has no effect', async () => {
    api.accepts = accepted['by-bearer'];
    const { elicitationId, raw } = await asked(world.subject(), checked('by-bearer'));
    api.answerNext('hang');
    const reached = api.hanging();
    const sending = acceptWith(raw, elicitationId, good('by-bearer'));
    await reached;
    expect((await world.api.cancel(elicitationId)).status).toBe(200);
    api.release();
    await sending;
    expect(await statusOf(elicitationId)).toBe('cancelled');
  });

  it('a value that is not a valid header value is not sent', async () => {
    const { elicitationId, raw } = await asked(world.subject(), checked('by-header'));
    const before = api.asked.length;
    for (const key of ['a\r\nX-Injected: 1', 'schlüssel'])
      expect((await acceptWith(raw, elicitationId, { key })).status).toBe(422);
    expect(api.asked.length).toBe(before);
    expect(await statusOf(elicitationId)).toBe('pending');
  });
});

describe('a lasting credential', () => {
  const fingerprintIn = (page: { body: string }) => /[0-9A-F]{4} [0-9A-F]{4}/.exec(page.body)?.[0];
  const linkIn = (page: { body: string }) =>
    unescapeHtml(/href="(\/me\/credentials\/[^"]+)"/.exec(page.body)?.[1] ?? '');

  it('can be read repeatedly, is listed without its values, and serves further asks', async () => {
    const user = world.subject();
    const { credentialId, elicitationId } = await typed(user, lasting, { key: 'lasting-key-1' });
    for (let round = 0; round < 3; round += 1)
      expect((await world.api.credential(credentialId, { tool: 'list_issues' })).body).toMatchObject({
        credentialId,
        name: 'acme',
        fields: ['key'],
        values: { key: 'lasting-key-1' },
      });
    const listed = await world.api.credentials(subjectOf(user));
    expect(listed.body.credentials).toMatchObject([{ credentialId, name: 'acme', lastUsedAt: expect.any(String) }]);
    expect(JSON.stringify(listed.body)).not.toContain('lasting-key-1');
    expect((await world.api.redeem(elicitationId)).body.code).toBe('not_redeemable');
    const again = await world.api.issue({ kind: 'credential', subject: subjectOf(user), credential: lasting });
    expect(again).toMatchObject({ status: 200, body: { status: 'completed', outcome: { credentialId } } });
    expect(JSON.stringify(again.body)).not.toContain('lasting-key-1');
  });

  it('is requested again after a rejection and replaced under the same id', async () => {
    const user = world.subject();
    const { credentialId, raw } = await typed(user, lasting, { key: 'first-key-value' });
    const before = fingerprintIn(await raw.get('/me'));
    const { generation = 0 } = (await world.api.credential(credentialId)).body;
    const replacing = await asked(user, { ...lasting, rejectedGeneration: generation });
    expect((await replacing.raw.get(`/e/${replacing.elicitationId}`)).body).toMatch(/entered before were rejected/);
    expect((await world.api.credential(credentialId)).body.values).toEqual({ key: 'first-key-value' });
    await acceptWith(replacing.raw, replacing.elicitationId, { key: 'second-key-value' });
    const read = await world.api.credential(credentialId);
    expect(read.body).toMatchObject({ credentialId, values: { key: 'second-key-value' } });
    expect(read.body.generation).toBeGreaterThan(generation);
    const after = fingerprintIn(await raw.get('/me'));
    expect(before).toBeDefined();
    expect(after).not.toBe(before);
    // A late rejection of the first values does not ask the user again.
    const late = await world.api.issue({
      kind: 'credential',
      subject: subjectOf(user),
      credential: { ...lasting, rejectedGeneration: generation },
    });
    expect(late).toMatchObject({ status: 200, body: { status: 'completed', outcome: { credentialId } } });
  });

  it('is requested again after the user deleted it at /me', async () => {
    const user = world.subject();
    const { credentialId, raw } = await typed(user, lasting, { key: 'deleted-by-person' });
    const page = await raw.get('/me');
    expect(page.body).not.toContain('deleted-by-person');
    const link = linkIn(page);
    const asking = await raw.get(link);
    expect(fingerprintIn(asking)).toBe(fingerprintIn(page));
    const form = { csrf_token: /name="csrf_token" value="([^"]+)"/.exec(asking.body)?.[1] ?? '' };
    expect((await raw.post(link, { form })).status).toBe(200);
    expect((await world.api.credential(credentialId)).status).toBe(404);
    expect(fingerprintIn(await raw.get('/me'))).toBeUndefined();
    expect(world.log()).toContain('credential.deleted');
    expect((await world.api.issue({ kind: 'credential', subject: subjectOf(user), credential: lasting })).status).toBe(
      201,
    );
  });

  it('disappears from /me when its MCP server deletes it', async () => {
    const { credentialId, raw } = await typed(world.subject(), lasting, { key: 'deleted-by-server' });
    expect(await world.api.removeCredential(credentialId)).toMatchObject({ status: 200, body: { credentialId } });
    expect((await world.api.removeCredential(credentialId)).status).toBe(404);
    expect(fingerprintIn(await raw.get('/me'))).toBeUndefined();
  });

  it('has different fingerprints for two users with the same values', async () => {
    const [one, other] = [
      await typed(world.subject(), lasting, { key: 'the-same-for-both' }),
      await typed(world.subject(), lasting, { key: 'the-same-for-both' }),
    ];
    expect(fingerprintIn(await one.raw.get('/me'))).not.toBe(fingerprintIn(await other.raw.get('/me')));
  });

  it('is shared only within its group', async () => {
    const user = world.subject();
    const { credentialId, raw } = await typed(user, lasting, { key: 'key-of-the-family' }, apiOf('friend'));
    expect((await apiOf('sibling').credential(credentialId)).body.values).toEqual({ key: 'key-of-the-family' });
    const served = await apiOf('sibling').issue({ kind: 'credential', subject: subjectOf(user), credential: lasting });
    expect(served.body.outcome?.credentialId).toBe(credentialId);
    expect((await world.api.credential(credentialId)).status).toBe(404);
    expect((await world.api.credentials(subjectOf(user))).body.credentials).toEqual([]);
    expect((await raw.get('/me')).body).toContain('API key of Acme');
  });
});

describe('sealed delivery (JWE) of typed values', () => {
  async function openedJwe(jwe: string | undefined): Promise<unknown> {
    const key = await importJWK(jwkOf(privateKey), 'ECDH-ES');
    const { plaintext } = await compactDecrypt(jwe ?? '', key);
    return JSON.parse(new TextDecoder().decode(plaintext));
  }

  it('if required, redeem and read return only sealed values, whether requested or not', async () => {
    const sealed = apiOf('sealed');
    const once = await typed(world.subject(), apiKey, { key: 'sealed-once-value' }, sealed);
    const redeemed = await sealed.redeem(once.elicitationId);
    expect(redeemed.body).not.toHaveProperty('values');
    expect(decodeProtectedHeader(redeemed.body.sealedResult ?? '')).toMatchObject({
      kid: 'to-sealed',
      aud: 'sealed',
      elicitationId: once.elicitationId,
    });
    expect(await openedJwe(redeemed.body.sealedResult)).toEqual({ key: 'sealed-once-value' });

    const kept = await typed(world.subject(), lasting, { key: 'sealed-lasting-value' }, sealed);
    const read = await sealed.credential(kept.credentialId);
    expect(read.body).not.toHaveProperty('values');
    expect(decodeProtectedHeader(read.body.sealedValues ?? '')).toMatchObject({
      aud: 'sealed',
      credentialId: kept.credentialId,
    });
    expect(await openedJwe(read.body.sealedValues)).toEqual({ key: 'sealed-lasting-value' });
  });

  it('if not required, values are sealed on request', async () => {
    const sealable = apiOf('sealable');
    const { elicitationId } = await typed(world.subject(), apiKey, { key: 'either-way-value' }, sealable);
    const headers = { 'idempotency-key': 'the-same-redemption' };
    const plain = await sealable.redeem(elicitationId, headers);
    expect(plain.body.values).toEqual({ key: 'either-way-value' });
    const sealed = await sealable.redeem(elicitationId, headers, { sealed: true });
    expect(await openedJwe(sealed.body.sealedResult)).toEqual({ key: 'either-way-value' });
  });

  it('without a key the request is refused before redemption', async () => {
    const { elicitationId } = await typed(world.subject(), apiKey, { key: 'no-key-is-known' });
    expect((await world.api.redeem(elicitationId, {}, { sealed: true })).body.code).toBe(
      'encryption_key_not_registered',
    );
    expect((await world.api.redeem(elicitationId)).body.values).toEqual({ key: 'no-key-is-known' });
    const kept = await typed(world.subject(), lasting, { key: 'no-key-is-known-2' });
    expect((await world.api.credential(kept.credentialId, { sealed: true })).body.code).toBe(
      'encryption_key_not_registered',
    );
  });

  it('the answers of a form are sealed too', async () => {
    const user = world.subject();
    const requestedSchema = { type: 'object' as const, properties: { n: { type: 'integer' as const } } };
    const { body } = await apiOf('sealed').issue({ kind: 'form', subject: subjectOf(user), form: { requestedSchema } });
    const raw = await visitorFor(world, user, body.elicitationId);
    await acceptWith(raw, body.elicitationId, { n: '7' });
    const redeemed = await apiOf('sealed').redeem(body.elicitationId);
    expect(redeemed.body).not.toHaveProperty('content');
    expect(await openedJwe(redeemed.body.sealedResult)).toEqual({ n: 7 });
  });
});
