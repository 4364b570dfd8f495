import { setTimeout as delay } from 'node:timers/promises';
import {
  driveAuthorization,
  driveDevice,
  type EvilProvider,
  type HttpListener,
  honestRefresh,
  honestTokens,
  listenHttp,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import { providerConfigSchema } from '../presets/expand-preset.ts';
import { createProviderRegistry } from '../provider.ts';
import type { ProviderConfigInput } from '../provider-config.ts';
import { held } from '../testing/connect-fixture.ts';
import { canaries, failureCodeOf, failureOf } from '../testing/failure-of.ts';
import { finish } from '../testing/finish.ts';
import { createMemoryRegistrationStore } from '../testing/memory-registration-store-fixture.ts';
import { type ClientPresentation, clientDocument, clientKeySet } from './client-metadata.ts';
import { createRemoteRegistrations } from './remote-registration.ts';

const { state } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });

const presentation: ClientPresentation = {
  describe: ({ pathname }) => ({ clientName: pathname.includes('/issues/') ? 'Issue Tracker' : 'Wiki' }),
  documentUrl: ({ pathname, origin }) => new URL(`${pathname.replace('/callback/', '/oauth/clients/')}.json`, origin),
  keySetUrl: ({ pathname, origin }) =>
    new URL(`${pathname.replace('/callback/', '/oauth/clients/')}/jwks.json`, origin),
};
const loopback = new URL('http://127.0.0.1:1/callback/issues/remote');
const loopbackOfWiki = new URL('http://127.0.0.1:1/callback/wiki/remote');
const https = new URL('https://postern.example/callback/issues/remote');

/** A remote MCP server that accepts tokens of these authorization servers. */
let mcpServer: HttpListener;
let mcpResource: string;
let authorizationServers: string[];
beforeEach(async () => {
  authorizationServers = [honest.issuer];
  mcpServer = await listenHttp((request, response) => {
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      response.end(JSON.stringify({ resource: mcpResource, authorization_servers: authorizationServers }));
    } else response.writeHead(request.url === '/mcp' ? 401 : 404).end();
  });
  mcpResource = `http://localhost:${mcpServer.port}/mcp`;
});
afterEach(() => mcpServer.close());

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
const clientKey = JSON.stringify({ ...(await exportJWK(privateKey)), kid: 'our-key' });

function configOf(changes: Partial<ProviderConfigInput> = {}) {
  return providerConfigSchema.parse({ name: 'remote', displayName: 'Remote', mcpResource, ...changes });
}

function replica(
  store = createMemoryRegistrationStore(),
  changes: Partial<ProviderConfigInput> = {},
  describe = presentation.describe,
) {
  let now = Date.now();
  const parts = { fetch, now: () => now };
  const onUnusedClient = () => {};
  const shown = { ...presentation, describe };
  const registrationsOf = createRemoteRegistrations({ ...parts, presentation: shown, store, onUnusedClient });
  const provider = createProviderRegistry({ ...parts, providers: [configOf(changes)], registrationsOf }).get('remote');
  if (!provider) throw new Error('the registry does not know its provider');
  const wait = (milliseconds: number) => {
    now += milliseconds;
  };
  return { provider, store, wait };
}
type Replica = ReturnType<typeof replica>;

async function connect({ provider }: Replica, redirectUri: URL, scopes = ['issues'], started = () => {}) {
  const start = await provider.start({ redirectUri, state, scopes });
  started();
  const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
  const grant = await finish(provider, { ...start, callbackUrl, redirectUri, state, scopes });
  return { start, grant, clientId: start.authorizationUrl.searchParams.get('client_id') ?? '' };
}

let honest: TestProvider;
let documents: (url: URL) => Promise<Response>;
beforeAll(async () => {
  honest = await startOpenIdProvider({ clients: [], scopes: ['issues'], registration: 'open' });
});
afterAll(() => honest.close());

it.each([
  ['https://mcp.example/mcp', undefined, ['mcp.example']],
  ['https://mcp.example:8443/mcp', undefined, ['mcp.example:8443']],
  ['http://localhost/mcp', undefined, ['localhost:80']],
  ['https://mcp.example/mcp', ['api.example'], ['api.example']],
])(
  'S90: only the remote MCP server %s gets its tokens, unless apiHosts (%j) say otherwise',
  (resource, apiHosts, expected) => {
    const { provider } = replica(undefined, { mcpResource: resource, ...(apiHosts && { apiHosts }) });
    expect(provider.apiHosts).toEqual(expected);
  },
);

describe('dynamic registration at a real provider', () => {
  it('registers a client, authorizes it for the resource and refreshes its tokens', async () => {
    const gate = replica();
    const { start, grant } = await connect(gate, loopback);
    expect(start.expectedIssuer).toBe(honest.issuer);
    expect(start.authorizationUrl.searchParams.get('resource')).toBe(mcpResource);
    expect(honest.requests('token').at(-1)?.form['resource']).toBe(mcpResource);
    expect(grant.scopes).toContain('issues');

    const refreshed = await gate.provider.refresh({ ...held(grant), redirectUri: loopback });
    expect(refreshed.accessToken).not.toBe(grant.accessToken);
    expect(honest.requests('token').at(-1)?.form['resource']).toBe(mcpResource);
    expect(await gate.provider.revoke({ ...refreshed, redirectUri: loopback, issuer: honest.issuer })).toBe('revoked');
  });

  it('A6, S16: registers another client for another MCP server, with only the redirect URI of that server', async () => {
    const gate = replica();
    const [issues, wiki] = [await connect(gate, loopback), await connect(gate, loopbackOfWiki)];
    expect(issues.clientId).not.toBe(wiki.clientId);

    const stolen = new URL(wiki.start.authorizationUrl);
    stolen.searchParams.set('client_id', issues.clientId);
    await expect(driveAuthorization(stolen, 'alice')).rejects.toThrow('400');
  });

  it('shares the client between replicas and after a restart', async () => {
    const { store, ...first } = replica();
    const { clientId, grant } = await connect({ store, ...first }, loopback);
    const second = replica(store);
    expect((await connect(second, loopback)).clientId).toBe(clientId);
    const refreshed = second.provider.refresh({ ...held(grant), redirectUri: loopback });
    expect(await refreshed).toMatchObject({ clientId });
  });

  it('authenticates with private_key_jwt if a client key is configured', async () => {
    documents = async () => Response.json(clientKeySet(configOf({ clientKey })));
    await using provider = await startOpenIdProvider({
      clients: [],
      scopes: ['issues'],
      registration: 'open',
      assertionAudience: 'issuer',
      clientIdMetadataDocuments: url => documents(url),
    });
    authorizationServers = [provider.issuer];
    // The provider also supports client ID metadata documents, but cannot fetch ours from loopback.
    await connect(replica(undefined, { clientKey }), loopback);
    const { form = {} } = provider.requests('token').at(-1) ?? {};
    expect(form['client_assertion_type']).toContain('jwt-bearer');
    expect(form).not.toHaveProperty('client_secret');
  });
});

it('a device flow registers a client', async () => {
  await using provider = await startOpenIdProvider({
    clients: [],
    scopes: ['issues'],
    registration: 'open',
    deviceFlow: true,
  });
  authorizationServers = [provider.issuer];
  const gate = replica(undefined, { flow: 'device' });
  const device = await gate.provider.startDevice({ redirectUri: loopback, scopes: ['issues'] });
  expect(device).toMatchObject({ expectedIssuer: provider.issuer, destinationHost: new URL(provider.issuer).host });
  const request = { ...device, redirectUri: loopback, scopes: ['issues'] };
  expect(await gate.provider.pollDevice(request)).toEqual({ result: 'pending' });
  expect(await driveDevice(device, 'alice')).toBe('approved');
  expect(await gate.provider.pollDevice(request)).toMatchObject({
    result: 'granted',
    grant: { scopes: expect.arrayContaining(['issues']), issuer: provider.issuer },
  });
  expect(provider.requests('token').at(-1)?.form['resource']).toBe(mcpResource);
});

describe('Client ID Metadata Documents at a real provider', () => {
  let provider: TestProvider;
  let asked: string[];
  beforeEach(async () => {
    asked = [];
    provider = await startOpenIdProvider({
      clients: [],
      scopes: ['issues'],
      registration: 'open',
      clientIdMetadataDocuments: url => {
        asked.push(url.href);
        return documents(url);
      },
    });
    authorizationServers = [provider.issuer];
  });
  afterEach(() => provider.close());

  const serve = (changes: Partial<ProviderConfigInput> = {}) => {
    const config = configOf(changes);
    documents = async ({ href }) => {
      if (href === presentation.documentUrl(https).href)
        return Response.json(clientDocument(config, presentation, https));
      if (href === presentation.keySetUrl(https).href) return Response.json(clientKeySet(config));
      return new Response(null, { status: 404 });
    };
  };

  it('identify the client without a registration', async () => {
    serve();
    const { clientId, grant } = await connect(replica(), https);
    expect(clientId).toBe('https://postern.example/oauth/clients/issues/remote.json');
    expect(asked).toEqual([clientId]);
    expect(grant).toMatchObject({ tokenType: 'bearer', scopes: expect.arrayContaining(['issues']) });
    expect(provider.requests().some(({ url }) => url.pathname === '/reg')).toBe(false);
  });

  it('authenticate the client by the published key', async () => {
    serve({ clientKey });
    await connect(replica(undefined, { clientKey }), https);
    expect(asked).toContain('https://postern.example/oauth/clients/issues/remote/jwks.json');
    expect(provider.requests('token').at(-1)?.form).toHaveProperty('client_assertion');
  });
});

describe('the documents that the gateway serves', () => {
  it('contain one redirect URI', () => {
    expect(clientDocument(configOf(), presentation, https)).toEqual({
      client_id: 'https://postern.example/oauth/clients/issues/remote.json',
      client_name: 'Issue Tracker',
      redirect_uris: [https.href],
      application_type: 'web',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
  });

  it('contain only the public members of the key', () => {
    const config = configOf({ clientKey });
    expect(clientDocument(config, presentation, https)).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://postern.example/oauth/clients/issues/remote/jwks.json',
    });
    const [key = {}] = clientKeySet(config)?.keys ?? [];
    expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it.each([
    ['for a configured client', { clientId: 'postern', issuer: 'https://as.example' }, https],
    ['without https', {}, loopback],
  ])('do not exist %s', (_, changes, redirectUri) => {
    expect(clientDocument(configOf(changes), presentation, redirectUri)).toBeUndefined();
  });

  it.each([
    [
      'for a provider that is not a remote MCP server',
      { mcpResource: undefined, clientId: 'a', issuer: 'https://as.example' },
    ],
    ['without a key', {}],
  ])('include no key set %s', (_, changes) => {
    expect(clientKeySet(configOf(changes))).toBeUndefined();
  });

  it('allow only redirect URIs at their own origin', () => {
    const foreign = { ...presentation, documentUrl: () => new URL('https://other.example/client.json') };
    expect(() => clientDocument(configOf(), foreign, https)).toThrow(TypeError);
    const bare = { ...presentation, documentUrl: () => new URL('https://postern.example/') };
    expect(() => clientDocument(configOf(), bare, https)).toThrow(TypeError);
  });
});

describe('an authorization server that replaces the former one', () => {
  it('T4: receives nothing of a flow that was started at the former one', async () => {
    await using evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint');
    const { provider, wait } = replica();
    const start = await provider.start({ redirectUri: loopback, state, scopes: ['issues'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    authorizationServers = [evil.issuer];
    wait(60 * 60 * 1000);
    const finished = finish(provider, { ...start, callbackUrl, redirectUri: loopback, state, scopes: ['issues'] });
    expect(await failureCodeOf(finished)).toBe('issuer_mismatch');
    expect(evil.requests('token')).toEqual([]);
  });

  it.each(['the former issuer', 'no issuer'])(
    'T4: receives no token that was recorded with %s, and no registration request',
    async recorded => {
      await using evil = await startEvilProvider({ clientId: 'postern' });
      evil.offer('registration_endpoint');
      const gate = replica();
      const { grant } = await connect(gate, loopback);
      const { accessToken, refreshToken = '', scopes, issuer = '', clientId } = grant;
      expect(issuer).toBe(honest.issuer);
      authorizationServers = [evil.issuer];
      gate.wait(60 * 60 * 1000);

      const { provider } = gate;
      const expected = recorded === 'no issuer' ? undefined : issuer;
      const at = { redirectUri: loopback, issuer: expected, clientId };
      for (const attempt of [
        () => provider.refresh({ refreshToken, scopes, ...at }),
        () => provider.revoke({ accessToken, refreshToken, ...at }),
        () => provider.pollDevice({ deviceCode: 'a', scopes, ...at, expectedIssuer: expected }),
      ]) {
        expect(await failureCodeOf(attempt)).toBe('issuer_mismatch');
      }
      expect(evil.requests().every(({ endpoint }) => endpoint === 'metadata')).toBe(true);
      authorizationServers = [honest.issuer];
      gate.wait(60 * 60 * 1000);
      expect(await provider.refresh({ refreshToken, scopes, ...at, issuer })).toHaveProperty('accessToken');
    },
  );

  it('is refused if the operator has configured the issuer', async () => {
    const { provider, wait } = replica(undefined, {
      issuer: honest.issuer,
      clientId: 'postern',
      clientSecret: canaries.clientSecret,
    });
    const start = await provider.start({ redirectUri: loopback, state, scopes: ['issues'] });
    expect(start.authorizationUrl.searchParams.get('client_id')).toBe('postern');
    authorizationServers = ['https://evil.example'];
    wait(60 * 60 * 1000);
    const again = provider.start({ redirectUri: loopback, state, scopes: ['issues'] });
    expect(await failureCodeOf(again)).toBe('metadata_mismatch');
  });
});

it('S14: registers no client at an authorization server without PKCE', async () => {
  await using evil = await startEvilProvider({ clientId: 'postern' });
  evil.offer('registration_endpoint');
  evil.metadata['code_challenge_methods_supported'] = ['plain'];
  authorizationServers = [evil.issuer];
  const attempt = replica().provider.start({ redirectUri: loopback, state, scopes: ['issues'] });
  expect(await failureCodeOf(attempt)).toBe('pkce_unsupported');
  expect(evil.requests().every(({ endpoint }) => endpoint === 'metadata')).toBe(true);
});

it('a client secret without a configured issuer throws a TypeError', () => {
  const { issuer: _, ...config } = { ...configOf({ clientId: 'postern', issuer: honest.issuer }) };
  const registrationsOf = createRemoteRegistrations({
    presentation,
    store: createMemoryRegistrationStore(),
    onUnusedClient: () => {},
    fetch,
    now: Date.now,
  });
  expect(() => registrationsOf(config)).toThrow(TypeError);
  expect(providerConfigSchema.safeParse({ ...config, name: 'remote' }).success).toBe(false);
});

describe('S188: a client that the authorization server no longer knows', () => {
  const refuse = (grantType: string) =>
    honest.fault({ endpoint: 'token', grantType, status: 401, body: '{"error":"invalid_client"}', times: 1 });
  afterEach(() => honest.clearFaults());
  const clientNow = async ({ provider }: Replica) =>
    (await provider.start({ redirectUri: loopback, state, scopes: ['issues'] })).clientId;

  it('is kept however often exchanges are refused, whose codes their users may have invented', async () => {
    const at = replica();
    const { grant, clientId } = await connect(at, loopback);
    for (const passedMs of [0, 3_600_000, 3_600_000, 3_600_000]) {
      at.wait(passedMs);
      const attempt = connect(at, loopback, ['issues'], () => refuse('authorization_code'));
      expect(await failureCodeOf(attempt)).toBe('provider_error');
    }
    expect(await clientNow(at)).toBe(clientId);
    refuse('refresh_token');
    const refresh = () => at.provider.refresh({ ...held(grant), redirectUri: loopback });
    expect(await failureCodeOf(refresh())).toBe('provider_error');
    await expect(refresh()).resolves.toMatchObject({ accessToken: expect.any(String), clientId });
  });

  it('is replaced after refreshes refused over two hours, and each further refusal ends its grant', async () => {
    const at = replica();
    const [one, other] = [await connect(at, loopback), await connect(at, loopback)];
    const refresh = ({ grant }: typeof one) => at.provider.refresh({ ...held(grant), redirectUri: loopback });
    for (const [passedMs, code] of [
      [0, 'provider_error'],
      [7_199_999, 'provider_error'],
      [1, 'grant_refused'],
    ] as const) {
      at.wait(passedMs);
      expect(await clientNow(at)).toBe(one.clientId);
      refuse('refresh_token');
      expect(await failureCodeOf(refresh(one))).toBe(code);
    }
    expect(await clientNow(at)).not.toBe(one.clientId);
    refuse('refresh_token');
    expect(await failureCodeOf(refresh(other))).toBe('grant_refused');
    // The provider has changed its mind: only its own answer ends a grant.
    expect(await refresh(other)).toMatchObject({ clientId: one.clientId });
  });

  it('S225: is replaced before a user is sent to an error page, and keeps its grants', async () => {
    const at = replica();
    const { grant, clientId } = await connect(at, loopback);
    at.wait(3_600_000);
    refuse('authorization_code');
    const replaced = await connect(at, loopback);
    expect(replaced.clientId).not.toBe(clientId);
    await expect(at.provider.refresh({ ...held(grant), redirectUri: loopback })).resolves.toMatchObject({ clientId });
    // Ten minutes later, for all replicas: another new grant asks nothing before.
    const asked = honest.requests('token').length;
    at.wait(600_000 - 1);
    expect(await clientNow(at)).toBe(replaced.clientId);
    expect(honest.requests('token')).toHaveLength(asked);
    at.wait(1);
    expect([await clientNow(at), await clientNow(at)]).toEqual([replaced.clientId, replaced.clientId]);
    expect(honest.requests('token')).toHaveLength(asked + 1);
  });

  it('S225: is kept while another replica gets tokens by it, and given up once none does', async () => {
    const at = replica();
    const other = replica(at.store);
    // Clocks differ.
    other.wait(-1_000);
    const [one, another] = [await connect(at, loopback), await connect(at, loopback)];
    const refreshed = ({ grant }: typeof one) => at.provider.refresh({ ...held(grant), redirectUri: loopback });
    const codes: string[] = [];
    for (let hour = 0; hour < 5; hour += 1) {
      if (hour === 2) {
        const before = [...at.store.values.values()];
        await other.provider.refresh({ ...held(another.grant), redirectUri: loopback });
        // Noted in the background.
        await expect.poll(() => [...at.store.values.values()]).not.toEqual(before);
      }
      refuse('refresh_token');
      codes.push(await failureCodeOf(refreshed(one)));
      for (const { wait } of [at, other]) wait(3_600_000);
    }
    expect(codes).toEqual([...Array.from({ length: 4 }, () => 'provider_error'), 'grant_refused']);
  });

  it('is kept if a refresh succeeds in between', async () => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    let held_ = held(grant);
    for (let nth = 0; nth < 4; nth += 1) {
      refuse('refresh_token');
      expect(await failureCodeOf(at.provider.refresh({ ...held_, redirectUri: loopback }))).toBe('provider_error');
      at.wait(3_600_000);
      const refreshed = await at.provider.refresh({ ...held_, redirectUri: loopback });
      held_ = held({ ...grant, ...refreshed });
    }
  });
});

describe('a grant that exists', () => {
  const hour = 60 * 60 * 1000;
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint', 'revocation_endpoint', 'device_authorization_endpoint');
    evil.metadata['token_endpoint_auth_methods_supported'] = ['none'];
    let registered = 0;
    evil.registrationAnswer = request => {
      registered += 1;
      return { status: 201, body: { ...(request as object), client_id: `client-${registered}` } };
    };
    evil.tokenAnswer = async form => {
      if (form.get('grant_type') === 'refresh_token') return { body: honestRefresh() };
      return { body: await honestTokens(evil, { refresh_token: 'refresh-1' }) };
    };
    authorizationServers = [evil.issuer];
  });
  afterEach(() => evil.close());

  /** The clients that sent these requests. */
  const clientsAt = (endpoint: 'revocation' | 'token') => evil.requests(endpoint).map(({ form }) => form['client_id']);
  const registrations = () => evil.requests('registration').length;
  const start = ({ provider }: Replica, redirectUri = loopback) =>
    provider.start({ redirectUri, state, scopes: ['issues'] });

  it('S225: stays with the client that began it when a new grant gets another one', async () => {
    const at = replica();
    const { grant, clientId } = await connect(at, loopback);
    const pending = await start(at);
    expect([clientId, grant.clientId, pending.clientId]).toEqual(['client-1', 'client-1', 'client-1']);
    evil.offer('pushed_authorization_request_endpoint');
    at.wait(hour);
    evil.answerNext('pushed_authorization_request', { status: 401, body: { error: 'invalid_client' } });
    expect(await failureCodeOf(start(at))).toBe('provider_error');
    expect((await start(at)).clientId).toBe('client-2');
    // Another client would fare no better.
    evil.answerNext('pushed_authorization_request', { status: 401, body: { error: 'invalid_client' } });
    expect(await failureCodeOf(start(at))).toBe('provider_error');
    expect((await start(at)).clientId).toBe('client-2');

    const origin = { ...held(grant), redirectUri: loopback };
    await at.provider.exchange({ ...pending, code: 'c', redirectUri: loopback, scopes: ['issues'] });
    await expect(at.provider.refresh(origin)).resolves.toMatchObject({ clientId: 'client-1' });
    await expect(at.provider.revoke(origin)).resolves.toBe('revoked');
    expect(new Set([...clientsAt('token'), ...clientsAt('revocation')])).toEqual(new Set(['client-1']));
    expect(registrations()).toBe(2);
  });

  it.each([
    ['a page', { status: 401, body: '<html>' }],
    ['another word', { status: 401, body: { error: 'unauthorized_client' } }],
    ['a failure that may pass', { status: 503, body: { error: 'invalid_client' } }],
    ['tokens', undefined],
  ])('S225: stays with new grants if an invented code is answered with %s', async (_, answer) => {
    const at = replica();
    evil.answerNext('token', { status: 400, body: { error: 'invalid_grant' } });
    expect((await start(at)).clientId).toBe('client-1');
    for (let nth = 0; nth < 3; nth += 1) {
      at.wait(hour);
      if (answer !== undefined) evil.answerNext('token', answer);
      expect((await start(at)).clientId).toBe('client-1');
    }
    expect(evil.requests('token')).toHaveLength(4);
  });

  it('S225: is not waited for if the server is slow to say whether it knows the client; the next new grant is', async () => {
    const at = replica();
    evil.answerNext('token', { status: 400, body: { error: 'invalid_grant' } });
    expect((await start(at)).clientId).toBe('client-1');
    at.wait(hour);
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    evil.tokenAnswer = async () => {
      asked.resolve();
      await answered.promise;
      return { status: 401, body: { error: 'invalid_client' } };
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const slow = start(at);
      await asked.promise;
      vi.advanceTimersByTime(2_000);
      const waiting = delay(5_000, { clientId: 'none yet' }, { ref: false });
      expect(await Promise.race([slow, waiting])).toMatchObject({ clientId: 'client-1' });
    } finally {
      vi.useRealTimers();
    }
    answered.resolve();
    await expect.poll(async () => (await start(at)).clientId).toBe('client-2');
  });

  it.each(['recorded', 'not recorded'])('S225: registers no client when its own is gone (%s)', async recorded => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    const pending = await start(at);
    at.store.values.clear();
    const clientId = recorded === 'recorded' ? grant.clientId : undefined;
    const origin = { ...held(grant), redirectUri: loopback, clientId };
    const before = evil.requests().length;
    for (const attempt of [
      () => at.provider.refresh(origin),
      () => at.provider.revoke(origin),
      () => at.provider.exchange({ ...pending, clientId, code: 'c', redirectUri: loopback, scopes: [] }),
      () => at.provider.pollDevice({ ...pending, clientId, deviceCode: 'c', redirectUri: loopback, scopes: [] }),
    ]) {
      expect(await failureOf(attempt)).toMatchObject({ code: 'client_gone', refuses: 'grant' });
    }
    expect(evil.requests()).toHaveLength(before);
  });

  it.each(['recorded', 'not recorded'])(
    'S225: keeps its client metadata document while the server does not name its support (%s)',
    async recorded => {
      evil.metadata['client_id_metadata_document_supported'] = true;
      const at = replica();
      const { clientId } = await start(at, https);
      expect(clientId).toBe(presentation.documentUrl(https).href);
      evil.metadata['client_id_metadata_document_supported'] = undefined;
      at.wait(hour);
      const origin = {
        redirectUri: https,
        issuer: evil.issuer,
        clientId: recorded === 'recorded' ? clientId : undefined,
      };
      await at.provider.refresh({ ...origin, refreshToken: 'r', scopes: [] });
      await expect(at.provider.revoke({ ...origin, accessToken: 'a' })).resolves.toBe('revoked');
      expect([...clientsAt('token'), ...clientsAt('revocation'), registrations()]).toEqual([clientId, clientId, 0]);
    },
  );

  it('S225: keeps its client when its MCP server is no longer configured', async () => {
    const registered = replica();
    const { grant } = await connect(registered, loopback);
    const since = replica(registered.store, {}, () => {
      throw new TypeError('not configured');
    });
    const document = presentation.documentUrl(https).href;
    for (const [redirectUri, clientId, used] of [
      [loopback, grant.clientId, 'client-1'],
      [loopback, undefined, 'client-1'],
      [https, document, document],
      [https, undefined, document],
    ] as const) {
      const origin = { ...held(grant), redirectUri, clientId };
      await expect(since.provider.refresh(origin)).resolves.toMatchObject({ clientId: used });
      await expect(since.provider.revoke(origin)).resolves.toBe('revoked');
    }
  });

  it('S225: keeps a registered client when the operator configures one, and the configured one when it changes', async () => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    const { issuer } = evil;
    const since = replica(at.store, { issuer, clientId: 'by-hand', clientAuthentication: 'none' });
    await expect(since.provider.refresh({ ...held(grant), redirectUri: loopback })).resolves.toMatchObject({
      clientId: 'client-1',
    });
    expect((await start(since)).clientId).toBe('by-hand');
    const another = since.provider.refresh({ ...held(grant), redirectUri: loopback, clientId: 'by-hand-before' });
    expect(await failureOf(another)).toMatchObject({ code: 'client_gone', refuses: 'client' });
  });

  it.each([
    ['another order of authorization servers', () => [honest.issuer, evil.issuer]],
    ['an unreadable document of the resource', () => []],
  ])('S226: refreshes, and its callback counts, with %s', async (_, listed) => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    const pending = await start(at);
    const callbackUrl = await driveAuthorization(pending.authorizationUrl, 'alice');
    authorizationServers = listed();
    if (authorizationServers.length > 0) {
      at.wait(hour);
      const finished = finish(at.provider, { ...pending, callbackUrl, redirectUri: loopback, state, scopes: [] });
      await expect(finished).resolves.toMatchObject({ issuer: evil.issuer });
    }
    at.wait(hour);
    await expect(at.provider.refresh({ ...held(grant), redirectUri: loopback })).resolves.toMatchObject({
      clientId: 'client-1',
    });
    await expect(at.provider.revoke({ ...held(grant), redirectUri: loopback })).resolves.toBe('revoked');
  });

  it.each([
    ['no PKCE methods', { code_challenge_methods_supported: undefined }],
    ['PKCE with plain only', { code_challenge_methods_supported: ['plain'] }],
    ['an unreadable authorization endpoint', { authorization_endpoint: 'not a url' }],
    ['a registration endpoint outside the rules', { registration_endpoint: 'http://other.example/register' }],
    ['unreadable scopes', { scopes_supported: { a: 1 } }],
    ['an unreadable switch', { claims_parameter_supported: 'yes' }],
  ])('S226: is refreshed and revoked despite %s, which stop new grants', async (_, changes) => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    Object.assign(evil.metadata, changes);
    at.wait(hour);
    expect(await failureCodeOf(start(at))).toMatch(/invalid_metadata|pkce_unsupported/);
    await expect(at.provider.refresh({ ...held(grant), redirectUri: loopback })).resolves.toMatchObject({
      clientId: 'client-1',
    });
    await expect(at.provider.revoke({ ...held(grant), redirectUri: loopback })).resolves.toBe('revoked');
  });

  it('S226: is not refreshed at an unreadable token endpoint, nor revoked at an unreadable revocation endpoint', async () => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    evil.metadata['revocation_endpoint'] = 'ftp://as.example/';
    at.wait(hour);
    const origin = { ...held(grant), redirectUri: loopback };
    await expect(at.provider.refresh(origin)).resolves.toMatchObject({ clientId: 'client-1' });
    expect(await failureCodeOf(at.provider.revoke(origin))).toBe('invalid_metadata');
    evil.metadata['token_endpoint'] = 'ftp://as.example/';
    at.wait(hour);
    expect(await failureCodeOf(at.provider.refresh(origin))).toBe('invalid_metadata');
  });

  it.each([
    [
      'a page that demands a password',
      { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' }, body: '<html>' },
    ],
    ['a bare 401', { status: 401, body: '' }],
    ['a refusal of another fault', { status: 400, body: { error: 'invalid_request' } }],
  ])('S225: keeps its client for new grants too after %s', async (_, answer) => {
    const device = replica(undefined, { flow: 'device' });
    const started = () => device.provider.startDevice({ redirectUri: loopback, scopes: ['issues'] });
    expect((await started()).clientId).toBe('client-1');
    evil.answerNext('device_authorization', answer);
    expect((await failureOf(started())).providerError).not.toBe('invalid_client');
    expect((await started()).clientId).toBe('client-1');

    evil.offer('pushed_authorization_request_endpoint');
    const at = replica(device.store);
    evil.answerNext('pushed_authorization_request', answer);
    expect((await failureOf(start(at))).providerError).not.toBe('invalid_client');
    expect((await start(at)).clientId).toBe('client-1');

    const origin = { refreshToken: 'r', scopes: [], redirectUri: loopback, issuer: evil.issuer, clientId: 'client-1' };
    for (const passedMs of [0, hour, hour, hour]) {
      at.wait(passedMs);
      evil.answerNext('token', answer);
      expect((await failureOf(at.provider.refresh(origin))).code).not.toBe('grant_refused');
    }
    expect(registrations()).toBe(1);
  });

  it('S225: a device flow reads why its start was refused, also with a challenge', async () => {
    const device = replica(undefined, { flow: 'device' });
    const headers = { 'www-authenticate': 'Basic realm="x"' };
    const started = () => device.provider.startDevice({ redirectUri: loopback, scopes: ['issues'] });
    await started();
    device.wait(hour);
    evil.answerNext('device_authorization', { status: 401, headers, body: { error: 'invalid_client' } });
    expect(await failureOf(started())).toMatchObject({ code: 'provider_error', providerError: 'invalid_client' });
    expect((await started()).clientId).toBe('client-2');
  });

  it('S225: keeps its client after two nonce challenges in a row', async () => {
    evil.offer('pushed_authorization_request_endpoint');
    evil.metadata['dpop_signing_alg_values_supported'] = ['ES256'];
    const at = replica(undefined, { dpop: 'required' });
    expect((await start(at)).clientId).toBe('client-1');
    const headers = { 'dpop-nonce': 'n', 'www-authenticate': 'DPoP error="use_dpop_nonce"' };
    const challenge = { status: 400, headers, body: { error: 'use_dpop_nonce' } };
    evil.answerNext('pushed_authorization_request', challenge);
    evil.answerNext('pushed_authorization_request', { ...challenge, headers: { ...headers, 'dpop-nonce': 'm' } });
    expect(await failureOf(start(at))).toMatchObject({ code: 'provider_error', providerError: 'use_dpop_nonce' });
    expect((await start(at)).clientId).toBe('client-1');
  });

  it('S226: claims held scopes only for the account that granted them', async () => {
    const changes = { incrementalScopes: true, account: { from: 'token_response', idClaim: 'user.id' } } as const;
    const at = replica(undefined, changes);
    evil.tokenAnswer = async () => ({ body: await honestTokens(evil, { user: { id: 'account-2' } }) });
    const exchanged = async (heldAccount: string | undefined) => {
      const pending = await start(at);
      const held = { heldScopes: ['files:delete'], heldAccount };
      const request = { ...pending, ...held, code: 'c', redirectUri: loopback, scopes: ['files:read'] };
      return (await at.provider.exchange(request)).scopes;
    };
    expect(await exchanged('account-2')).toEqual(['files:read', 'files:delete']);
    expect(await exchanged('account-1')).toEqual(['files:read']);
    expect(await exchanged(undefined)).toEqual(['files:read']);
  });
});
