/** A gateway whose key service hangs, lies or cannot be reached: what people, MCP servers and operators see. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createLogger, parseConfig, startGateway } from '@postern/gateway';
import { KEY_SERVICE_CANARY, startFakeTransit } from '@postern/testkit/key-services';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, visitorFor } from '../support/asks.ts';
import { connectPerson } from '../support/connected-person.ts';
import { createRawBrowser } from '../support/raw-browser.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

const transit = await startFakeTransit({ keys: ['postern'] });
const tls = await startTlsProxy();
tls.leadTo(transit.url);
const folder = mkdtempSync(join(tmpdir(), 'postern-key-faults-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, tls.certificate);
const { port } = new URL(tls.origin);
const key = { kid: 'bao', service: 'vault-transit' as const, key: 'postern', token: transit.token };
let world: World;
beforeAll(async () => {
  world = await startWorld({
    config: ({ base }) => ({
      vault: {
        keys: [{ ...key, url: transit.url }, ...base.vault.keys],
        transactionKey: randomBytes(32).toString('base64'),
        // No content key stays in memory: every read asks.
        keyServices: { timeoutSeconds: 1, cachedKeys: 0 },
      },
    }),
  });
});
afterEach(() => transit.setMood('well'));
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await tls[Symbol.asyncDispose]();
  await transit[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** The decrypted token of a connection stays in memory for a minute; a credential is opened for every request. */
async function credential() {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, {
    kind: 'credential',
    credential: { ...apiKeyRequest, retention: 'lasting' },
  });
  const raw = await visitorFor(world, user, elicitationId);
  await acceptWith(raw, elicitationId, { api_key: 'ak_0123456789abcdef' });
  const { credentialId = '' } = (await world.api.read(elicitationId)).body.outcome ?? {};
  return { raw, credentialId };
}

/** A gateway of its own, so that the pause after timeouts does not end in another test. */
async function gatewayWith(change: object, keyServices = world.config.vault.keyServices) {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: 'info', destination });
  const vault = {
    ...world.config.vault,
    keyServices,
    keys: [{ ...key, url: transit.url, ...change }, ...world.config.vault.keys.slice(1)],
  };
  const listen = { host: '127.0.0.1', port: 0 };
  const gateway = await startGateway(parseConfig({ ...world.config, vault, listen }), { logger });
  return Object.assign(gateway, { log: () => lines.join('') });
}

const unavailable = { status: 503, body: { code: 'unavailable' } };
const faultsLogged = () =>
  [...world.log().matchAll(/"event":"key_service\.unavailable","kid":"bao","fault":"(\w+)"/g)].map(
    ([, fault]) => fault,
  );

describe('S161: while the key service hangs', () => {
  it('requests that need no key are served while 100 others wait for it', async () => {
    const { credentialId } = await credential();
    const { connectionId } = await connectPerson(world);
    await using gateway = await gatewayWith({}, { timeoutSeconds: 10, cachedKeys: 0 });
    const api = createApi(gateway.address, keyOf('tracker'));
    expect((await api.accessToken(connectionId)).status).toBe(200);
    const held = Promise.withResolvers<void>();
    for (let nth = 1; nth <= 16; nth += 1) transit.atRequest(nth, () => held.promise);
    let waiting = 100;
    const reads = Array.from({ length: waiting }, () =>
      api.credential(credentialId).finally(() => {
        waiting -= 1;
      }),
    );
    const { elicitationId } = await world.ask(world.subject());
    const others = await Promise.all([
      api.accessToken(connectionId),
      api.credentials({ issuer: world.identityProvider.issuer, subject: 'x' }),
      api.read(elicitationId),
      createRawBrowser({ address: gateway.address, publicUrl: world.publicUrl }).get(`/e/${elicitationId}`),
    ]);
    expect([waiting, ...others.map(({ status }) => status)]).toEqual([100, 200, 200, 200, 200]);
    held.resolve();
    expect((await Promise.all(reads)).every(({ status }) => status === 200)).toBe(true);
  });

  it('more requests than may wait get 503 with Retry-After', async () => {
    const { credentialId } = await credential();
    transit.setMood('silent');
    const answers = await Promise.all(Array.from({ length: 300 }, () => world.api.credential(credentialId)));
    for (const answer of answers) {
      expect(answer).toMatchObject(unavailable);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(faultsLogged()).toContain('timeout');
  });

  it('a page that must store a value says so with 503 and Retry-After, and the same page works afterwards', async () => {
    const user = world.subject();
    const ask = {
      kind: 'credential',
      credential: { ...apiKeyRequest, name: 'another', retention: 'lasting' },
    } as const;
    const { elicitationId } = await issueFor(world, user, ask);
    const raw = await visitorFor(world, user, elicitationId);
    transit.setMood('silent');
    const refused = await acceptWith(raw, elicitationId, { api_key: 'ak_0123456789abcdef' });
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([503, true]);
    expect(refused.body).not.toMatch(/ak_0123456789abcdef|key service|bao/);
    transit.setMood('well');
    // The gateway pauses for ten seconds after five timeouts.
    await expect
      .poll(async () => (await acceptWith(raw, elicitationId, { api_key: 'ak_0123456789abcdef' })).status)
      .toBe(303);
  });

  it('people still see and delete what is stored about them at /me', async () => {
    const { raw, credentialId } = await credential();
    transit.setMood('silent');
    const me = await raw.get('/me');
    expect([me.status, me.body.includes(apiKeyRequest.title)]).toEqual([200, true]);
    const path = `/me/credentials/${credentialId}/delete`;
    const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec((await raw.get(path)).body) ?? [];
    expect((await raw.post(path, { form: { csrf_token: token } })).status).toBe(200);
    expect((await raw.get('/me')).body).not.toContain(apiKeyRequest.title);
  });
});

describe('S161: each fault of the key service is a 503 with Retry-After, and the log says whose it is', () => {
  it.each([
    ['a host name that does not resolve', { url: 'https://bao.example:8200' }, 'unknown_host'],
    ['a certificate for another name', { url: `https://127.0.0.1:${port}`, caFile }, 'untrusted_certificate'],
    ['a certificate of an unknown authority', { url: tls.origin }, 'untrusted_certificate'],
    ['a port where nothing listens', { url: 'http://127.0.0.1:1' }, 'unreachable'],
    ['a token that has expired', { token: 'hvs.expired' }, 'permission_denied'],
  ])('%s', async (_, change, fault) => {
    const { credentialId } = await credential();
    await using gateway = await gatewayWith(change);
    const answer = await createApi(gateway.address, keyOf('tracker')).credential(credentialId);
    expect(answer).toMatchObject(unavailable);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    await expect.poll(gateway.log).toMatch(new RegExp(`"key_service.unavailable","kid":"bao","fault":"${fault}"`));
    expect(gateway.log()).not.toMatch(/ak_0123456789abcdef|hvs\./);
  });

  it.each([
    ['throttled', 'throttled'],
    ['html', 'unusable_response'],
    ['failing', 'failed'],
  ] as const)('a service that is %s', async (mood, fault) => {
    const { credentialId } = await credential();
    await using gateway = await gatewayWith({});
    transit.setMood(mood);
    const api = createApi(gateway.address, keyOf('tracker'));
    const answer = await api.credential(credentialId);
    expect(answer).toMatchObject(unavailable);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(gateway.log()).toMatch(new RegExp(`"key_service.unavailable","kid":"bao","fault":"${fault}"`));
    expect(gateway.log()).not.toContain(KEY_SERVICE_CANARY);
    transit.setMood('well');
    expect((await api.credential(credentialId)).status).toBe(200);
  });

  it('works over TLS with the right name', async () => {
    const { credentialId } = await credential();
    await using gateway = await gatewayWith({ url: tls.origin, caFile });
    expect((await createApi(gateway.address, keyOf('tracker')).credential(credentialId)).status).toBe(200);
  });
});

it('S160: a service that returns the key of another value opens nothing and loses nothing', async () => {
  const { credentialId } = await credential();
  transit.setMood('wrong');
  const answer = await world.api.credential(credentialId);
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(answer.body.values).toBeUndefined();
  transit.setMood('well');
  expect((await world.api.credential(credentialId)).status).toBe(200);
});
