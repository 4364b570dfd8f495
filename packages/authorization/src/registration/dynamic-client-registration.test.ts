import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canaries, failureCodeOf } from '../failure-of.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { createMemoryRegistrationStore } from './memory-registration-store-fixture.ts';
import { clientKey, otherRedirectUri, RegistrationEndpoint, redirectUri, replica } from './registration-fixture.ts';

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

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
