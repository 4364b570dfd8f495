import {
  driveAuthorization,
  driveDevice,
  type HttpListener,
  listenHttp,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import { providerConfigSchema } from '../presets/expand-preset.ts';
import type { ProviderConfigInput } from '../provider-config.ts';
import { createProviderRegistry } from '../provider-registry.ts';
import { held } from '../testing/connect-fixture.ts';
import { canaries, failureCodeOf } from '../testing/failure-of.ts';
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

function replica(store = createMemoryRegistrationStore(), changes: Partial<ProviderConfigInput> = {}) {
  let now = Date.now();
  const parts = { fetch, now: () => now };
  const onUnusedClient = () => {};
  const registrationsOf = createRemoteRegistrations({ ...parts, presentation, store, onUnusedClient });
  const provider = createProviderRegistry({ ...parts, providers: [configOf(changes)], registrationsOf }).get('remote');
  if (!provider) throw new Error('the registry does not know its provider');
  const wait = (milliseconds: number) => {
    now += milliseconds;
  };
  return { provider, store, wait };
}
type Replica = ReturnType<typeof replica>;

async function connect({ provider }: Replica, redirectUri: URL, scopes = ['issues']) {
  const start = await provider.start({ redirectUri, state, scopes });
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

    const { refreshToken = '', scopes } = grant;
    const refreshed = await gate.provider.refresh({
      refreshToken,
      scopes,
      redirectUri: loopback,
      issuer: honest.issuer,
    });
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
    const { refreshToken = '', scopes } = grant;
    const request = { refreshToken, scopes, redirectUri: loopback, issuer: honest.issuer };
    expect(await second.provider.refresh(request)).toHaveProperty('accessToken');
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
      const { accessToken, refreshToken = '', scopes, issuer = '' } = grant;
      expect(issuer).toBe(honest.issuer);
      authorizationServers = [evil.issuer];
      gate.wait(60 * 60 * 1000);

      const { provider } = gate;
      const expected = recorded === 'no issuer' ? undefined : issuer;
      for (const attempt of [
        () => provider.refresh({ refreshToken, scopes, redirectUri: loopback, issuer: expected }),
        () => provider.revoke({ accessToken, refreshToken, redirectUri: loopback, issuer: expected }),
        () => provider.pollDevice({ deviceCode: 'a', scopes, redirectUri: loopback, expectedIssuer: expected }),
      ]) {
        expect(await failureCodeOf(attempt)).toBe('issuer_mismatch');
      }
      expect(evil.requests().every(({ endpoint }) => endpoint === 'metadata')).toBe(true);
      authorizationServers = [honest.issuer];
      gate.wait(60 * 60 * 1000);
      expect(await provider.refresh({ refreshToken, scopes, redirectUri: loopback, issuer })).toHaveProperty(
        'accessToken',
      );
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

  it('is kept after one refused exchange, whose code its user may have invented: no other grant ends', async () => {
    const at = replica();
    const { grant } = await connect(at, loopback);
    refuse('authorization_code');
    expect(await failureCodeOf(connect(at, loopback))).toBe('provider_error');
    const refreshed = at.provider.refresh({ ...held(grant), redirectUri: loopback });
    await expect(refreshed).resolves.toMatchObject({ accessToken: expect.any(String) });
  });

  it('is replaced after refreshes refused over two hours, so its grants end and the user is asked', async () => {
    const at = replica();
    const { grant, clientId } = await connect(at, loopback);
    const refresh = () => at.provider.refresh({ ...held(grant), redirectUri: loopback });
    const clientNow = async () =>
      (await at.provider.start({ redirectUri: loopback, state, scopes: ['issues'] })).authorizationUrl.searchParams.get(
        'client_id',
      );
    for (const passedMs of [0, 7_199_999, 1]) {
      at.wait(passedMs);
      expect(await clientNow()).toBe(clientId);
      refuse('refresh_token');
      expect(await failureCodeOf(refresh())).toBe('provider_error');
    }
    expect(await clientNow()).not.toBe(clientId);
    expect(await failureCodeOf(refresh())).toBe('grant_refused');
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
