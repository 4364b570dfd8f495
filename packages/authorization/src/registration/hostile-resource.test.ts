import {
  driveAuthorization,
  type HttpListener,
  listenHttp,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAccessTokenVerifier } from '../access-token-verifier.ts';
import { identityProviderConfigSchema } from '../identity-provider-config.ts';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import { providerConfigSchema } from '../presets/expand-preset.ts';
import { createProviderRegistry } from '../provider.ts';
import type { ProviderConfigInput } from '../provider-config.ts';
import { canaries, failureCodeOf } from '../testing/failure-of.ts';
import { finish } from '../testing/finish.ts';
import { createMemoryRegistrationStore } from '../testing/memory-registration-store-fixture.ts';
import { createRemoteRegistrations } from './remote-registration.ts';

const { state } = canaries;
const scopes = ['issues'];
const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

/** A remote MCP server that names the given issuer. */
async function startResource(issuer: () => string): Promise<HttpListener & { readonly url: string }> {
  const listener = await listenHttp((request, response) => {
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      response.end(JSON.stringify({ resource: url, authorization_servers: [issuer()] }));
    } else response.writeHead(request.url === '/mcp' ? 401 : 404).end();
  });
  const url = `http://localhost:${listener.port}/mcp`;
  return Object.assign(listener, { url });
}

let honest: TestProvider;
let named: string;
let honestResource: string;
let hostile: string;
let stack: AsyncDisposableStack;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  honest = stack.use(
    await startOpenIdProvider({
      clients: [],
      scopes,
      registration: 'open',
      deviceFlow: true,
      accessTokenFormat: 'jwt',
      pushedAuthorization: 'offered',
    }),
  );
  named = honest.issuer;
  const [one, other] = [await startResource(() => honest.issuer), await startResource(() => named)];
  for (const listener of [one, other]) stack.defer(() => listener.close());
  honestResource = one.url;
  hostile = other.url;
});
afterEach(() => stack.disposeAsync());

const redirectUriOf = (name: string) => new URL(`http://127.0.0.1:1/callback/issues/${name}`);

/** Creates a provider called `name` for a remote MCP server. */
function posternAt(mcpResource: string, changes: Partial<ProviderConfigInput> = {}) {
  const name = mcpResource === hostile ? 'hostile' : 'honest';
  const redirectUri = redirectUriOf(name);
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const registrationsOf = createRemoteRegistrations({
    presentation: {
      describe: () => ({ clientName: 'Issue Tracker' }),
      documentUrl: url => new URL(`${url.href}.json`),
      keySetUrl: url => new URL(`${url.href}/jwks.json`),
    },
    store: createMemoryRegistrationStore(),
    onUnusedClient: () => {},
    fetch,
    now,
  });
  const config = providerConfigSchema.parse({ name, displayName: 'Remote', mcpResource, ...changes });
  const provider = createProviderRegistry({ providers: [config], registrationsOf, fetch, now }).get(name);
  if (!provider) throw new Error('the registry does not know its provider');
  const start = () => provider.start({ redirectUri, state, scopes });
  return {
    provider,
    redirectUri,
    start,
    async connect() {
      const started = await start();
      const callbackUrl = await driveAuthorization(started.authorizationUrl, 'alice');
      const grant = await finish(provider, { ...started, callbackUrl, redirectUri, state, scopes });
      return { clientId: started.authorizationUrl.searchParams.get('client_id') ?? '', grant };
    },
    passHour() {
      ahead += 60 * 60 * 1000;
    },
  };
}

/** Checks a token like a resource that receives it. */
function verdictOf(resource: string, accessToken: string) {
  const config = { name: 'honest', issuer: honest.issuer, clientId: 'resource', accessTokens: { audience: resource } };
  const identityProviders = [identityProviderConfigSchema.parse(config)];
  const verifier = createAccessTokenVerifier({ identityProviders, fetchFor: () => fetch, now: Date.now });
  return verifier.verify(accessToken, { allowedIssuers: [honest.issuer] });
}

describe('S85: an authorization server that lists its resources', () => {
  it.each([
    ['another resource', () => [honestResource]],
    ['no resource', () => []],
    ['the resource with a slash', () => [`${hostile}/`]],
    ['the origin of the resource', () => [new URL(hostile).origin]],
    ['the resource in capitals', () => [hostile.toUpperCase()]],
  ])('is not used for an unlisted resource, and registers no client (its list: %s)', async (_, listed) => {
    honest.switches.protectedResources = listed();
    const { provider, redirectUri, start } = posternAt(hostile);
    expect(await failureCodeOf(start())).toBe('resource_not_listed');
    expect(await failureCodeOf(provider.startDevice({ redirectUri, scopes }))).toBe('resource_not_listed');
    expect(honest.requests().map(({ endpoint }) => endpoint)).not.toContain('registration');
    expect(honest.requests('pushed_authorization_request')).toEqual([]);
  });

  it('is used for a listed resource', async () => {
    honest.switches.protectedResources = ['https://other.example/', honestResource];
    expect((await posternAt(honestResource).connect()).grant.scopes).toContain('issues');
  });

  it('is used for an unlisted resource if the operator configures the issuer', async () => {
    honest.switches.protectedResources = [];
    expect((await posternAt(hostile, { issuer: honest.issuer }).start()).expectedIssuer).toBe(honest.issuer);
  });

  it('still refreshes and revokes existing grants of a resource that it no longer lists', async () => {
    const { provider, connect, redirectUri, start, passHour } = posternAt(honestResource);
    const { grant } = await connect();
    honest.switches.protectedResources = [];
    passHour();
    expect(await failureCodeOf(start())).toBe('resource_not_listed');
    const { refreshToken = '', accessToken, issuer, clientId } = grant;
    const refreshed = await provider.refresh({ refreshToken, scopes, redirectUri, issuer, clientId });
    expect(refreshed.accessToken).not.toBe(accessToken);
    expect(await provider.revoke({ ...refreshed, redirectUri, issuer })).toBe('refresh_token_revoked');
  });
});

describe('S85: an authorization server that lists no resources', () => {
  it('issues a token that only the requesting resource accepts', async () => {
    const { provider, connect, redirectUri } = posternAt(hostile);
    const { grant } = await connect();
    const { refreshToken = '', issuer, clientId } = grant;
    const refreshed = await provider.refresh({ refreshToken, scopes, redirectUri, issuer, clientId });
    for (const { accessToken } of [grant, refreshed]) {
      expect(await verdictOf(hostile, accessToken)).toMatchObject({ issuer: honest.issuer });
      expect(await failureCodeOf(verdictOf(honestResource, accessToken))).toBe('invalid_access_token');
    }
    const named = [...honest.requests('pushed_authorization_request'), ...honest.requests('token')];
    expect(named.map(({ form }) => form['resource'])).toEqual([hostile, hostile, hostile]);
  });

  it('is not asked for a token for another resource', async () => {
    const { provider, redirectUri } = posternAt(hostile);
    const request = { redirectUri, state, scopes, resource: honestResource };
    expect(await failureCodeOf(provider.start(request))).toBe('resource_not_allowed');
    expect(await failureCodeOf(provider.startDevice(request))).toBe('resource_not_allowed');
  });
});

describe('S85: a hostile resource whose authorization server sends the browser to an honest one', () => {
  it('receives no code, because the redirect URI does not belong to the client that it names', async () => {
    const { clientId } = await posternAt(honestResource).connect();
    const tokenRequests = honest.requests('token').length;
    const codes = honest.issued.length;
    await using evil = await startEvilProvider({ clientId });
    evil.offer('registration_endpoint');
    evil.metadata['token_endpoint_auth_methods_supported'] = ['none'];
    evil.metadata['authorization_endpoint'] = `${honest.issuer}/auth`;
    named = evil.issuer;
    const { start } = posternAt(hostile);
    const { authorizationUrl } = await start();
    expect(authorizationUrl.origin).toBe(honest.origin);
    expect(authorizationUrl.searchParams.get('client_id')).toBe(clientId);
    expect(authorizationUrl.searchParams.get('redirect_uri')).toBe(redirectUriOf('hostile').href);
    await expect(driveAuthorization(authorizationUrl, 'alice')).rejects.toThrow('400');
    expect(honest.issued).toHaveLength(codes);
    expect(honest.requests('token')).toHaveLength(tokenRequests);
    // The code that asks whether the client is known, and does not exist.
    expect(evil.requests('token')).toHaveLength(1);
  });

  it('receives no code of a transaction with the honest one', async () => {
    const atHonest = posternAt(honestResource);
    const started = await atHonest.start();
    const callbackUrl = await driveAuthorization(started.authorizationUrl, 'alice');
    await using evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint');
    named = evil.issuer;
    const { provider, redirectUri } = posternAt(hostile);
    const request = { ...started, callbackUrl, state, scopes };
    expect(await failureCodeOf(finish(provider, { ...request, redirectUri }))).toBe('issuer_mismatch');
    const own = { ...request, redirectUri, expectedIssuer: evil.issuer };
    expect(await failureCodeOf(finish(provider, own))).toBe('invalid_callback');
    const shared = { ...own, redirectUri: atHonest.redirectUri };
    expect(await failureCodeOf(finish(provider, shared))).toBe('issuer_mismatch');
    expect(evil.requests('token')).toEqual([]);
  });
});
