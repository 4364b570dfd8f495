import {
  type EvilProvider,
  hostileRegistrationAnswers,
  hostileRegistrationClientUris,
  listenHttp,
  startEvilProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClientKey } from '../client-key.ts';
import { canaries, failureCodeOf, failureOf } from '../failure-of.ts';
import { createOutboundFetch } from '../outbound-fetch.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { createDynamicClientRegistration, type UnusedClient } from './dynamic-client-registration.ts';
import { createMemoryRegistrationStore } from './memory-registration-store.test-support.ts';

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

const redirectUri = new URL('https://postern.example/callback/issues/tracker');
const otherRedirectUri = new URL('https://postern.example/callback/wiki/tracker');

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

/** A registration endpoint that answers as the test says, honestly until told otherwise. */
class RegistrationEndpoint {
  readonly asked: Asked[] = [];
  status = 201;
  /** Changes to the honest answer; `undefined` leaves a member out. */
  changes: Record<string, unknown> = {};
  deletion = 204;
  origin = '';
  close = async () => {};
  /** Nothing is answered before so many have asked. */
  together = 1;
  readonly #waiting: (() => void)[] = [];

  async start(): Promise<this> {
    const listener = await listenHttp(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
      const { method = '', url: path = '', headers } = request;
      this.asked.push({ method, path, authorization: headers.authorization, body });
      const clientId = `client-${this.asked.length}`;
      await this.#everybody();
      if (method === 'DELETE') response.writeHead(this.deletion).end();
      else response.writeHead(this.status).end(JSON.stringify({ ...this.#honest(clientId, body), ...this.changes }));
    });
    this.origin = `http://localhost:${listener.port}`;
    this.close = () => listener.close();
    return this;
  }

  async #everybody(): Promise<void> {
    if (this.asked.length >= this.together) {
      for (const answer of this.#waiting.splice(0)) answer();
      return;
    }
    await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  #honest(clientId: string, body: Record<string, unknown>): Record<string, unknown> {
    const hasSecret = String(body['token_endpoint_auth_method']).startsWith('client_secret');
    return {
      ...body,
      client_id: clientId,
      ...(hasSecret && { client_secret: canaries.clientSecret, client_secret_expires_at: 0 }),
      registration_client_uri: `${this.origin}/register/${clientId}`,
      registration_access_token: canaries.accessToken,
    };
  }

  metadata(changes: Partial<ServerMetadata> = {}): ServerMetadata {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      registration_endpoint: `${this.origin}/register`,
      ...changes,
    };
  }

  get posted(): Record<string, unknown>[] {
    return this.asked.filter(({ method }) => method === 'POST').map(({ body }) => body);
  }
}

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
const clientKey: ClientKey = { jwk: await exportJWK(privateKey), algorithm: 'ES256', kid: 'our-key' };
const jwksUri = 'https://postern.example/oauth/clients/issues/tracker/jwks.json';

function replica(
  store = createMemoryRegistrationStore(),
  p: { clientKey?: ClientKey; now?: () => number; documentUrl?: (redirectUri: URL) => URL | undefined } = {},
) {
  const unused: UnusedClient[] = [];
  const registration = createDynamicClientRegistration({
    describe: () => ({ clientName: 'Issue Tracker', ...(p.clientKey && { jwksUri }) }),
    documentUrl: p.documentUrl ?? (() => undefined),
    clientKey: p.clientKey,
    store,
    fetch,
    now: p.now ?? (() => 0),
    onUnusedClient: client => unused.push(client),
  });
  return { ...registration, store, unused };
}

describe('what is asked for', () => {
  it('one redirect URI, code and refresh token, a secret where nothing else is said', async () => {
    const registered = await replica().resolve(endpoint.metadata(), redirectUri);
    expect(registered).toEqual({
      clientId: 'client-1',
      clientAuthentication: 'client_secret_basic',
      clientSecret: canaries.clientSecret,
    });
    expect(endpoint.posted).toEqual([
      {
        client_name: 'Issue Tracker',
        redirect_uris: [redirectUri.href],
        application_type: 'web',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ]);
  });

  it('MCP: on a loopback address it is a native application', async () => {
    await replica().resolve(endpoint.metadata(), new URL('http://127.0.0.1:1/callback/issues/tracker'));
    expect(endpoint.posted).toMatchObject([{ application_type: 'native' }]);
  });

  it('only grant types that the authorization server knows', async () => {
    await replica().resolve(endpoint.metadata({ grant_types_supported: ['authorization_code'] }), redirectUri);
    expect(endpoint.posted).toMatchObject([{ grant_types: ['authorization_code'] }]);
  });

  it.each([
    [['none'], 'none'],
    [['none', 'client_secret_post'], 'client_secret_post'],
    [['client_secret_post', 'client_secret_basic', 'private_key_jwt'], 'client_secret_basic'],
  ])('of %j it is %s', async (supported, method) => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: supported });
    expect(await replica().resolve(metadata, redirectUri)).toMatchObject({ clientAuthentication: method });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: method }]);
    expect(endpoint.posted[0]).not.toHaveProperty('jwks_uri');
  });

  it('private_key_jwt where there is a key, which is published and not sent', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'],
    });
    expect(await replica(undefined, { clientKey }).resolve(metadata, redirectUri)).toEqual({
      clientId: 'client-1',
      clientAuthentication: 'private_key_jwt',
      clientKey,
    });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }]);
    expect(JSON.stringify(endpoint.posted)).not.toContain(clientKey.jwk.d);
  });

  it('no endpoint → registration_unavailable', async () => {
    const { registration_endpoint: _, ...metadata } = endpoint.metadata();
    expect(await failureCodeOf(replica().resolve(metadata, redirectUri))).toBe('registration_unavailable');
  });

  it('no method that we speak → registration_unavailable, and nobody is asked', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['tls_client_auth', 'private_key_jwt'],
    });
    expect(await failureCodeOf(replica().resolve(metadata, redirectUri))).toBe('registration_unavailable');
    expect(endpoint.asked).toEqual([]);
  });
});

describe('what is answered', () => {
  it.each([
    ['without our redirect URI', { redirect_uris: ['https://postern.example/callback/other/tracker'] }],
    ['without any', { redirect_uris: undefined }],
    ['with ours nearly', { redirect_uris: [`${redirectUri.href}/`] }],
    ['without a client', { client_id: undefined }],
    ['with a client that is no text', { client_id: 7 }],
    ['with a control character in the client', { client_id: 'a\nb' }],
    ['with a method that we do not speak', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['with client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['with keys that it was not told', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['with a method by secret and no secret', { client_secret: undefined }],
    ['with a secret that is no text', { client_secret: ['a'] }],
    ['with a secret and not how long it is good', { client_secret_expires_at: undefined }],
    ['with an expiry that is no number', { client_secret_expires_at: '0' }],
    ['with a secret that is over', { client_secret_expires_at: 1 }],
  ])('%s → invalid_registration, and nothing is stored', async (_, changes) => {
    endpoint.changes = changes;
    const { resolve, store } = replica(undefined, { now: () => 2000 });
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    expect(store.values.size).toBe(0);
  });

  it.each([
    ['another method by secret', { token_endpoint_auth_method: 'client_secret_post' }, 'client_secret_post'],
    ['none, and a secret all the same', { token_endpoint_auth_method: 'none' }, 'none'],
    ['no method', { token_endpoint_auth_method: undefined }, 'client_secret_basic'],
  ])('%s is taken as it is', async (_, changes, method) => {
    endpoint.changes = changes;
    const registered = await replica().resolve(endpoint.metadata(), redirectUri);
    expect(registered.clientAuthentication).toBe(method);
    expect(registered.clientSecret).toBe(method === 'none' ? undefined : canaries.clientSecret);
  });

  it.each([
    [400, 'invalid_redirect_uri', 'invalid_redirect_uri'],
    [401, 'invalid_token', 'invalid_token'],
    [403, canaries.description, 'unregistered'],
    [404, undefined, 'unregistered'],
  ])('%i %s → registration_refused', async (status, error, providerError) => {
    Object.assign(endpoint, { status, changes: { error, error_description: canaries.description } });
    const failure = await failureOf(replica().resolve(endpoint.metadata(), redirectUri));
    expect(failure).toMatchObject({ code: 'registration_refused', providerError, retryable: false });
  });

  it('trouble is no refusal, and the next attempt is a new one', async () => {
    endpoint.status = 503;
    const { resolve } = replica();
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('provider_unavailable');
    endpoint.status = 201;
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('another status, or a redirect, is no registration', async () => {
    endpoint.status = 202;
    expect(await failureCodeOf(replica().resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    endpoint.status = 302;
    expect(await failureCodeOf(replica().resolve(endpoint.metadata(), redirectUri))).toBe('outbound_redirect');
  });
});

describe('answers of the catalogue', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint');
  });
  afterEach(() => evil.close());
  const resolve = (at = replica()) => at.resolve(evil.metadata as ServerMetadata, redirectUri);
  const honest = {
    client_id: 'postern',
    client_secret: canaries.clientSecret,
    client_secret_expires_at: 0,
    redirect_uris: [redirectUri.href],
    token_endpoint_auth_method: 'client_secret_basic',
  };

  it('the honest one is none of them', async () => {
    evil.registrationAnswer = () => ({ status: 201, body: honest });
    expect(await resolve()).toMatchObject({ clientId: 'postern' });
  });

  it.each(Object.entries(hostileRegistrationAnswers(honest)))('%s → refused', async (_, answer) => {
    evil.registrationAnswer = () => answer;
    const at = replica(undefined, { now: () => 2000 });
    expect(['invalid_registration', 'outbound_too_large', 'outbound_redirect']).toContain(
      await failureCodeOf(resolve(at)),
    );
    expect(at.store.values.size).toBe(0);
  });

  it.each(hostileRegistrationClientUris)('%s gets no registration access token', async uri => {
    const body = { ...honest, registration_client_uri: uri, registration_access_token: canaries.accessToken };
    evil.registrationAnswer = () => ({ status: 201, body });
    const at = replica();
    await resolve(at);
    expect([...at.store.values.values()].join()).not.toContain(canaries.accessToken);
  });
});

describe('whose a registration is', () => {
  it('A6, S16: of one redirect URI', async () => {
    const { resolve, store } = replica();
    const [one, other] = [
      await resolve(endpoint.metadata(), redirectUri),
      await resolve(endpoint.metadata(), otherRedirectUri),
    ];
    expect(one.clientId).not.toBe(other.clientId);
    expect(endpoint.posted.map(body => body['redirect_uris'])).toEqual([[redirectUri.href], [otherRedirectUri.href]]);
    expect(await resolve(endpoint.metadata(), redirectUri)).toEqual(one);
    expect([...store.values.keys()].every(key => /^[\w-]{43}$/.test(key))).toBe(true);
  });

  it('of one authorization server: where the resource names another one, there is another', async () => {
    const { resolve } = replica();
    const issuers = ['https://one.example', 'https://two.example', 'https://one.example'];
    const clients: string[] = [];
    for (const issuer of issuers) clients.push((await resolve(endpoint.metadata({ issuer }), redirectUri)).clientId);
    expect(clients).toEqual(['client-1', 'client-2', 'client-1']);
  });

  it('a record under the key of another is refused', async () => {
    const { resolve, store } = replica();
    await resolve(endpoint.metadata(), redirectUri);
    await resolve(endpoint.metadata(), otherRedirectUri);
    const [[first = '', record = ''] = [], [second = '', otherRecord = ''] = []] = [...store.values];
    store.values.set(first, otherRecord).set(second, record);
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    store.values.set(first, '{');
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
  });
});

describe('one registration for all replicas', () => {
  it('many at once in one process register once', async () => {
    const { resolve } = replica();
    const found = await Promise.all(Array.from({ length: 50 }, () => resolve(endpoint.metadata(), redirectUri)));
    expect(new Set(found.map(({ clientId }) => clientId))).toEqual(new Set(['client-1']));
    expect(endpoint.asked).toHaveLength(1);
  });

  /** Both have found nothing and asked, before either of them is answered. */
  async function race() {
    const store = createMemoryRegistrationStore();
    const replicas = [replica(store), replica(store)];
    endpoint.together = 2;
    const attempts = replicas.map(({ resolve }) => resolve(endpoint.metadata(), redirectUri));
    const clients = (await Promise.all(attempts)).map(({ clientId }) => clientId);
    return { store, clients, unused: replicas.flatMap(one => one.unused) };
  }

  it('two replicas at once: the first that is stored is used by both, the other is deleted (RFC 7592)', async () => {
    const { clients, unused, store } = await race();
    const [kept = ''] = clients;
    const spare = kept === 'client-1' ? 'client-2' : 'client-1';
    expect(clients).toEqual([kept, kept]);
    expect(unused).toEqual([{ issuer: endpoint.origin, clientId: spare, deleted: true }]);
    expect(endpoint.asked.filter(({ method }) => method === 'DELETE')).toEqual([
      { method: 'DELETE', path: `/register/${spare}`, authorization: `Bearer ${canaries.accessToken}`, body: {} },
    ]);
    expect(store.values.size).toBe(1);
  });

  it.each([
    ['does not delete it', () => Object.assign(endpoint, { deletion: 403 })],
    ['offers no deletion', () => Object.assign(endpoint, { changes: { registration_client_uri: undefined } })],
    [
      'names a place we do not go to',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'http://a.example' } }),
    ],
    [
      'names a place elsewhere',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'https://10.0.0.1/' } }),
    ],
  ])('where the authorization server %s, that is reported and nothing else', async (_, prepare) => {
    prepare();
    const { clients, unused } = await race();
    expect(new Set(clients).size).toBe(1);
    expect(unused).toMatchObject([{ deleted: false }]);
  });
});

describe('the end of a registration', () => {
  it('a secret that is over is replaced', async () => {
    let now = 0;
    const { resolve, store } = replica(undefined, { now: () => now });
    endpoint.changes = { client_secret_expires_at: 100 };
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-1' });
    now = 99_999;
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-1' });
    now = 100_000;
    endpoint.changes = { client_secret_expires_at: 200 };
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
    expect(store.values.size).toBe(1);
  });

  it('so is one by a key that is no longer configured', async () => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] });
    const { resolve, store } = replica(undefined, { clientKey });
    await resolve(metadata, redirectUri);
    expect(await replica(store).resolve(metadata, redirectUri)).toEqual({
      clientId: 'client-2',
      clientAuthentication: 'none',
    });
  });

  it('forgotten, but only the one that was complained about', async () => {
    const { resolve, forget, store } = replica();
    await resolve(endpoint.metadata(), redirectUri);
    await forget(endpoint.metadata(), redirectUri, 'client-0');
    expect(store.values.size).toBe(1);
    await forget(endpoint.metadata(), redirectUri, 'client-1');
    await forget(endpoint.metadata(), redirectUri, 'client-1');
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('a registration is kept to when the authorization server learns to read documents', async () => {
    const documentUrl = () => new URL('https://postern.example/oauth/clients/issues/tracker.json');
    const { resolve } = replica(undefined, { documentUrl });
    await resolve(endpoint.metadata(), redirectUri);
    const metadata = endpoint.metadata({ client_id_metadata_document_supported: true });
    expect(await resolve(metadata, redirectUri)).toMatchObject({ clientId: 'client-1' });
    expect(await resolve(metadata, otherRedirectUri)).toMatchObject({ clientId: documentUrl().href });
  });
});

describe('MCP: a Client ID Metadata Document comes before registration', () => {
  const href = 'https://postern.example/oauth/clients/issues/tracker.json';
  const offered = (changes: Partial<ServerMetadata> = {}) =>
    endpoint.metadata({ client_id_metadata_document_supported: true, ...changes });

  it('its URL is the client, without a secret; nothing is asked and nothing stored', async () => {
    const { resolve, store } = replica(undefined, { documentUrl: () => new URL(href) });
    expect(await resolve(offered(), redirectUri)).toEqual({ clientId: href, clientAuthentication: 'none' });
    expect(endpoint.asked).toEqual([]);
    expect(store.values.size).toBe(0);
  });

  it('by key where there is one', async () => {
    const { resolve } = replica(undefined, { documentUrl: () => new URL(href), clientKey });
    const expected = { clientId: href, clientAuthentication: 'private_key_jwt', clientKey };
    expect(await resolve(offered(), redirectUri)).toEqual(expected);
  });

  it.each([
    ['it is not offered', href, { client_id_metadata_document_supported: false }],
    ['we are not on https', 'http://postern.example/oauth/clients/issues/tracker.json', {}],
    ['we are on loopback', 'https://localhost/oauth/clients/issues/tracker.json', {}],
    ['it takes no public clients', href, { token_endpoint_auth_methods_supported: ['client_secret_basic'] }],
  ])('not where %s', async (_, url, changes) => {
    const { resolve } = replica(undefined, { documentUrl: () => new URL(url) });
    expect(await resolve(offered(changes), redirectUri)).toMatchObject({ clientId: 'client-1' });
  });
});
