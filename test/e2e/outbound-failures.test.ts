import { lookup } from 'node:dns/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { freePort } from '@postern/testkit/processes';
import {
  createCookieJar,
  driveAuthorization,
  type EvilProvider,
  startEvilProvider,
  startOpenIdProvider,
} from '@postern/testkit/providers';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

const NO_HOST = 'identity.invalid';

let world: World;
let evil: EvilProvider;
/** Listens with a self-signed certificate. */
let untrusted: string;
/** A port without a listener. */
let closed: string;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], { keyType: 'ec' });
  const server = createServer({ key, cert }).listen(0, '127.0.0.1');
  stack.defer(() => void server.close());
  await new Promise(resolve => server.once('listening', resolve));
  untrusted = `https://localhost:${(server.address() as AddressInfo).port}`;
  closed = `http://localhost:${await freePort()}`;
  evil = stack.use(await startEvilProvider({ clientId: 'postern' }));
  const publicUrl = `http://localhost:${await freePort()}`;
  const clientSecret = 'the-right-secret';
  const redirectUris = [`${publicUrl}/login/callback/wrong-secret`];
  const strict = stack.use(
    await startOpenIdProvider({ consent: 'skip', clients: [{ clientId: 'postern', clientSecret, redirectUris }] }),
  );
  const identityProvider = (name: string, issuer: string) => ({
    name,
    displayName: name,
    issuer,
    clientId: 'postern',
    clientSecret: 'a-wrong-secret',
  });
  const providerWith = <T>(clientSecret: string, providers: readonly T[] = []) =>
    providers.map(provider => Object.assign({}, provider, { clientSecret }));
  world = stack.use(
    await startWorld({
      publicUrl,
      mcpServer: { credentialChecks: { acme: { url: `${untrusted}/check`, bearer: 'key' } } },
      config: ({ base }) => ({
        identityProviders: [
          ...(base.identityProviders ?? []),
          identityProvider('nowhere', `https://${NO_HOST}`),
          identityProvider('untrusted', untrusted),
          identityProvider('closed', closed),
          identityProvider('wrong-secret', strict.issuer),
          { ...identityProvider('odd-claims', evil.issuer), maxAgeSeconds: 3600 },
        ],
        providers: providerWith('a-wrong-secret', base.providers),
      }),
    }),
  );
});
afterAll(() => stack.disposeAsync());

const failures = () =>
  world
    .log()
    .split('\n')
    .filter(line => line.includes('"outbound.failed"'))
    .map(line => JSON.parse(line) as Record<string, unknown>);

/** Starts a sign-in for the list of connections and follows it until it fails. */
async function signIn(idp: string, user = 'alice') {
  const raw = world.raw();
  const before = failures().length;
  const started = await raw.get(`/login?${new URLSearchParams({ to: 'me', idp })}`);
  const page =
    started.location === undefined
      ? started
      : await raw.get(await driveAuthorization(started.location, user, { jar: createCookieJar() }));
  return { page, logged: failures().slice(before) };
}

const hostOf = (url: string) => new URL(url).host;
const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);
const common = { level: 'warn', requestId: expect.stringMatching(/^rq_/), ms: expect.any(Number) };
const idp = (name: string) => ({ ...common, target: 'identity_provider', name });

describe('S78: a failed sign-in can be diagnosed', () => {
  it.each([
    [
      'a host that does not exist',
      'nowhere',
      async () => {
        // A machine without DNS answers EAI_AGAIN.
        const cause = await lookup(NO_HOST).catch(codeOf);
        return { host: NO_HOST, cause, code: cause === 'ENOTFOUND' ? 'unknown_host' : 'name_lookup_failed' };
      },
    ],
    [
      'a certificate of an unknown authority',
      'untrusted',
      () => ({ host: hostOf(untrusted), code: 'untrusted_certificate', cause: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
    ],
    ['a closed port', 'closed', () => ({ host: hostOf(closed), code: 'connection_refused', cause: 'ECONNREFUSED' })],
    [
      'a wrong client secret',
      'wrong-secret',
      () => ({ code: 'client_refused', cause: 'invalid_client', status: 401, host: expect.any(String) }),
    ],
    [
      'an invalid auth_time',
      'odd-claims',
      () => {
        const { idTokenClaims } = evil;
        evil.idTokenClaims = nonce => ({ ...idTokenClaims(nonce), auth_time: 0 });
        return { host: hostOf(evil.issuer), code: 'invalid_claim', cause: 'invalid_id_token', claim: 'auth_time' };
      },
    ],
    [
      'a token endpoint that answers HTML',
      'example-id',
      () => {
        const html = { status: 200, body: '<p>x</p>', headers: { 'content-type': 'text/html' } };
        world.identityProvider.fault({ endpoint: 'token', times: 1, ...html });
        const host = hostOf(world.identityProvider.issuer);
        return { host, code: 'invalid_answer', cause: 'invalid_token_response', status: 200 };
      },
    ],
    [
      'a token endpoint that answers 503',
      'example-id',
      () => {
        world.identityProvider.fault({ endpoint: 'token', times: 1, status: 503 });
        return { code: 'unavailable', cause: 'http_503', status: 503, host: expect.any(String) };
      },
    ],
  ])('%s logs one line with the owner, the host and the cause', async (_, name, arrange) => {
    const expected = await arrange();
    const { page, logged } = await signIn(name);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(logged).toEqual([expect.objectContaining({ ...idp(name), ...expected })]);
    const isOver = ['connection_refused', 'name_lookup_failed', 'unavailable'].includes(expected.code);
    // The page shows the id of the log line only for failures that the operator must fix.
    expect(page.body.includes(String(logged[0]?.['requestId']))).toBe(!isOver);
    expect(page.body.includes('class="request-id"')).toBe(!isOver);
  });

  it('a wrong client secret logs the provider, and the page shows the id of the log line', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = await visitorFor(world, user, elicitationId);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    const { location = '' } = await raw.get(callback);
    const line = failures().at(-1);
    expect(line).toMatchObject({
      ...common,
      target: 'provider',
      name: 'forge',
      host: hostOf(world.provider.issuer),
      code: 'client_refused',
      cause: 'invalid_client',
      status: 401,
    });
    expect(location).toBe(`/e/${elicitationId}?fault=${line?.['requestId']}`);
    expect((await raw.get(location)).body).toContain(`>${line?.['requestId']}<`);
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('class="request-id"');
    expect((await raw.get(`/e/${elicitationId}?fault=rq_<b>`)).body).not.toContain('class="request-id"');
  });

  it('a failed credential check logs the name of the credential', async () => {
    const user = world.subject();
    const credential = { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] };
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
    const raw = await visitorFor(world, user, elicitationId);
    const page = await acceptWith(raw, elicitationId, { key: 'a-typed-key' });
    const line = failures().at(-1);
    expect(line).toMatchObject({
      ...common,
      target: 'credential_check',
      name: 'tracker.acme',
      host: hostOf(untrusted),
      code: 'untrusted_certificate',
      cause: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    expect(page.body).toContain(`>${line?.['requestId']}<`);
  });
});
