import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServerMetadata } from '../server-metadata.ts';
import { canaries, failureCodeOf } from '../testing/failure-of.ts';
import { createMemoryRegistrationStore } from '../testing/memory-registration-store-fixture.ts';
import {
  clientKey,
  otherRedirectUri,
  RegistrationEndpoint,
  redirectUri,
  replica,
} from '../testing/registration-fixture.ts';

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

describe('client registrations', () => {
  it('A6, S16: each redirect URI has its own registration', async () => {
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

  it('each authorization server has its own registration', async () => {
    const { resolve } = replica();
    const issuers = ['https://one.example', 'https://two.example', 'https://one.example'];
    const clients: string[] = [];
    for (const issuer of issuers) clients.push((await resolve(endpoint.metadata({ issuer }), redirectUri)).clientId);
    expect(clients).toEqual(['client-1', 'client-2', 'client-1']);
  });

  it('S194: an authorization server keeps its client if its metadata adds or drops the slash of an empty path', async () => {
    const { resolve, store, forget } = replica();
    const at = (issuer: string) => resolve(endpoint.metadata({ issuer }), redirectUri);
    const [bare, rooted, path] = ['https://one.example', 'https://one.example/', 'https://one.example/path'] as const;
    expect([(await at(bare)).clientId, (await at(rooted)).clientId]).toEqual(['client-1', 'client-1']);
    expect([(await at(path)).clientId, (await at(`${path}/`)).clientId]).toEqual(['client-2', 'client-3']);
    await forget(endpoint.metadata({ issuer: bare }), redirectUri, 'client-1');
    expect(store.values.size).toBe(2);

    // As an earlier release stored it.
    const key = createHash('sha256')
      .update(JSON.stringify([rooted, redirectUri.href]))
      .digest('base64url');
    const place = { layout: 1, issuer: rooted, redirectUri: redirectUri.href };
    store.values.set(key, JSON.stringify({ ...place, clientId: 'client-0', method: 'none' }));
    expect([(await at(bare)).clientId, (await at(rooted)).clientId]).toEqual(['client-0', 'client-0']);
  });

  it('a record under the key of another registration is refused', async () => {
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
  it('concurrent callers in one process share one registration request', async () => {
    const { resolve } = replica();
    const found = await Promise.all(Array.from({ length: 50 }, () => resolve(endpoint.metadata(), redirectUri)));
    expect(new Set(found.map(({ clientId }) => clientId))).toEqual(new Set(['client-1']));
    expect(endpoint.asked).toHaveLength(1);
  });

  /** Both replicas find no registration and send a request before either gets a response. */
  async function race() {
    const store = createMemoryRegistrationStore();
    const replicas = [replica(store), replica(store)];
    endpoint.together = 2;
    const attempts = replicas.map(({ resolve }) => resolve(endpoint.metadata(), redirectUri));
    const clients = (await Promise.all(attempts)).map(({ clientId }) => clientId);
    return { store, clients, unused: replicas.flatMap(one => one.unused) };
  }

  it('two concurrent replicas use the registration that is stored first, and delete the other one (RFC 7592)', async () => {
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
    ['refuses the deletion', () => Object.assign(endpoint, { deletion: 403 })],
    ['offers no deletion', () => Object.assign(endpoint, { changes: { registration_client_uri: undefined } })],
    [
      'names a management URL with http',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'http://a.example' } }),
    ],
    [
      'names a management URL at another host',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'https://10.0.0.1/' } }),
    ],
  ])('reports an unused client if the authorization server %s', async (_, prepare) => {
    prepare();
    const { clients, unused } = await race();
    expect(new Set(clients).size).toBe(1);
    expect(unused).toMatchObject([{ deleted: false }]);
  });
});

describe('an existing registration', () => {
  it('is replaced when its secret has expired', async () => {
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

  it('is replaced when its client key is no longer configured', async () => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] });
    const { resolve, store } = replica(undefined, { clientKey });
    await resolve(metadata, redirectUri);
    expect(await replica(store).resolve(metadata, redirectUri)).toEqual({
      clientId: 'client-2',
      clientAuthentication: 'none',
    });
  });

  it('is removed only if its own client id was rejected', async () => {
    const { resolve, forget, store } = replica();
    await resolve(endpoint.metadata(), redirectUri);
    await forget(endpoint.metadata(), redirectUri, 'client-0');
    expect(store.values.size).toBe(1);
    await forget(endpoint.metadata(), redirectUri, 'client-1');
    await forget(endpoint.metadata(), redirectUri, 'client-1');
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('is kept when the authorization server starts to support Client ID Metadata Documents', async () => {
    const documentUrl = () => new URL('https://postern.example/oauth/clients/issues/tracker.json');
    const { resolve } = replica(undefined, { documentUrl });
    await resolve(endpoint.metadata(), redirectUri);
    const metadata = endpoint.metadata({ client_id_metadata_document_supported: true });
    expect(await resolve(metadata, redirectUri)).toMatchObject({ clientId: 'client-1' });
    expect(await resolve(metadata, otherRedirectUri)).toMatchObject({ clientId: documentUrl().href });
  });
});

describe('MCP: a Client ID Metadata Document takes precedence over registration', () => {
  const href = 'https://postern.example/oauth/clients/issues/tracker.json';
  const offered = (changes: Partial<ServerMetadata> = {}) =>
    endpoint.metadata({ client_id_metadata_document_supported: true, ...changes });

  it('with its URL as client id, without a secret, a request or a record', async () => {
    const { resolve, store } = replica(undefined, { documentUrl: () => new URL(href) });
    expect(await resolve(offered(), redirectUri)).toEqual({ clientId: href, clientAuthentication: 'none' });
    expect(endpoint.asked).toEqual([]);
    expect(store.values.size).toBe(0);
  });

  it('with private_key_jwt if a client key is configured', async () => {
    const { resolve } = replica(undefined, { documentUrl: () => new URL(href), clientKey });
    const expected = { clientId: href, clientAuthentication: 'private_key_jwt', clientKey };
    expect(await resolve(offered(), redirectUri)).toEqual(expected);
  });

  it.each([
    ['the authorization server does not support it', href, { client_id_metadata_document_supported: false }],
    ['the gateway has no https URL', 'http://postern.example/oauth/clients/issues/tracker.json', {}],
    ['the gateway is on loopback', 'https://localhost/oauth/clients/issues/tracker.json', {}],
    [
      'the authorization server accepts no public clients',
      href,
      { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
    ],
  ])('except if %s', async (_, url, changes) => {
    const { resolve } = replica(undefined, { documentUrl: () => new URL(url) });
    expect(await resolve(offered(changes), redirectUri)).toMatchObject({ clientId: 'client-1' });
  });
});
