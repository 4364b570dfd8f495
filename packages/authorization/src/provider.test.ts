import { createHash } from 'node:crypto';
import {
  createCookieJar,
  driveAuthorization,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { providerConfigSchema } from './presets/expand-preset.ts';
import { createProviderRegistry, type Grant, type Provider } from './provider.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';

const redirectUri = new URL('http://127.0.0.1:1/callback/issues/tracker');
const otherRedirectUri = new URL('http://127.0.0.1:1/callback/calendar/tracker');
const { state, clientSecret } = canaries;
const resource = 'https://api.tracker.example';
const now = Date.now();

let op: TestProvider;
const fetch = createOutboundFetch({ allowLoopback: true });

beforeAll(async () => {
  op = await startOpenIdProvider({
    scopes: ['repo', 'gist'],
    clients: [
      { clientId: 'postern', clientSecret, redirectUris: [redirectUri.href, otherRedirectUri.href] },
      { clientId: 'postern-public', redirectUris: [redirectUri.href] },
      {
        clientId: 'postern-post',
        clientSecret,
        redirectUris: [redirectUri.href],
        metadata: { token_endpoint_auth_method: 'client_secret_post' },
      },
    ],
  });
});
beforeEach(() => {
  op.clearRequests();
  op.clearFaults();
});
afterAll(async () => {
  await fetch.close();
  await op.close();
});

function provider(changes: Partial<ProviderConfigInput> = {}): Provider {
  const config = providerConfigSchema.parse({
    name: 'tracker',
    displayName: 'Tracker',
    ...(!('authorizationEndpoint' in changes) && { issuer: op.issuer }),
    clientId: 'postern',
    ...(!('clientId' in changes) && { clientSecret }),
    ...changes,
  });
  const found = createProviderRegistry({ providers: [config], fetch, now: () => now }).get('tracker');
  if (!found) throw new Error('the registry does not know its provider');
  return found;
}

const explicit = () => ({ authorizationEndpoint: `${op.issuer}/auth`, tokenEndpoint: `${op.issuer}/token` });

/** From start to grant, as this user. */
async function connect(
  at: Provider,
  p: { scopes?: string[]; resource?: string; user?: string; grantScopes?: string[] } = {},
): Promise<Grant> {
  const { scopes = ['repo'], user = 'alice', grantScopes, ...request } = p;
  const start = await at.start({ redirectUri, state, scopes, ...request });
  const callbackUrl = await driveAuthorization(start.authorizationUrl, user, grantScopes ? { grantScopes } : {});
  return finish(at, { ...start, callbackUrl, redirectUri, state, scopes, ...request });
}

describe('an authorization flow at a real provider', () => {
  it.each([
    ['OpenID Connect discovery', () => provider()],
    ['RFC 8414 discovery', () => provider({ discovery: 'oauth2' })],
    ['explicit endpoints', () => provider(explicit())],
    ['explicit endpoints and issuer', () => provider({ ...explicit(), issuer: op.issuer, requireIss: true })],
    ['a public client', () => provider({ clientId: 'postern-public' })],
    [
      'client_secret_post',
      () => provider({ clientId: 'postern-post', clientSecret, clientAuthentication: 'client_secret_post' }),
    ],
  ])('ends in a grant with %s', async (_, at) => {
    const grant = await connect(at());
    expect(grant).toMatchObject({ tokenType: 'bearer', scopes: ['repo'], expiresAt: now + 3_600_000 });
    expect(grant.accessToken).not.toBe('');
    expect(grant.refreshToken).not.toBe('');
    expect(grant.idToken).toBeUndefined();
    expect(op.requests('token')).toHaveLength(1);
  });

  it('S14: sends PKCE with S256 in every authorization request, and the verifier in the token request', async () => {
    for (const at of [provider(), provider({ discovery: 'oauth2' }), provider(explicit())]) {
      op.clearRequests();
      const start = await at.start({ redirectUri, state, scopes: ['repo'] });
      const query = start.authorizationUrl.searchParams;
      expect(query.get('code_challenge_method')).toBe('S256');
      expect(query.get('code_challenge')).toBe(createHash('sha256').update(start.codeVerifier).digest('base64url'));
      expect(start.codeVerifier).toMatch(/^[\w-]{43,128}$/);
      expect(start.authorizationUrl.href).not.toContain(start.codeVerifier);

      const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
      const finished = finish(at, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
      // Check the sent request first: a request without the verifier fails too, with the same error.
      await Promise.allSettled([finished]);
      expect(op.requests('token')[0]?.form['code_verifier']).toBe(start.codeVerifier);
      expect(await finished).toMatchObject({ scopes: ['repo'] });
    }
  });

  it('T5: the provider rejects another code verifier', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const { codeVerifier } = canaries;
    const error = await failureOf(
      finish(at, { ...start, codeVerifier, callbackUrl, redirectUri, state, scopes: ['repo'] }),
      [callbackUrl.searchParams.get('code') ?? ''],
    );
    expect(error).toMatchObject({ code: 'provider_error', providerError: 'invalid_grant', retryable: true });
  });

  it('S16: the provider rejects a code with another redirect URI', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const { code } = await at.validateCallback({ ...start, callbackUrl, redirectUri, state });
    const exchange = at.exchange({ ...start, code, redirectUri: otherRedirectUri, scopes: ['repo'] });
    expect(await failureOf(exchange, [code, start.codeVerifier])).toMatchObject({ providerError: 'invalid_grant' });
  });

  it('T4: never sends a code of the former authorization server to a newly configured one', async () => {
    const start = await provider().start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const since = provider({ issuer: 'https://other.example' });
    const code = callbackUrl.searchParams.get('code') ?? '';
    for (const attempt of [
      since.validateCallback({ ...start, callbackUrl, redirectUri, state }),
      // The code was held for an external verification.
      since.exchange({ ...start, code, redirectUri, scopes: ['repo'] }),
    ])
      expect(await failureCodeOf(attempt)).toBe('issuer_mismatch');
  });

  it('S21: never sends the client secret in a URL', async () => {
    await connect(provider());
    await connect(provider({ clientId: 'postern-post', clientSecret, clientAuthentication: 'client_secret_post' }));
    expect(op.requests().some(({ url }) => url.href.includes(clientSecret))).toBe(false);
  });

  it('returns the host to which the browser goes', async () => {
    const { host } = new URL(op.issuer);
    expect(provider(explicit()).destinationHost()).toBe(host);
    expect(await provider().destinationHost()).toBe(host);
    expect(await provider().start({ redirectUri, state, scopes: [] })).toMatchObject({
      destinationHost: host,
      expectedIssuer: op.issuer,
      issRequired: true,
    });
  });

  it('sends the configured parameters and the expected account', async () => {
    const at = provider({ authorizationParameters: { access_type: 'offline' } });
    const { authorizationUrl } = await at.start({ redirectUri, state, scopes: [], expectedAccount: 'octocat' });
    expect(Object.fromEntries(authorizationUrl.searchParams)).toMatchObject({
      access_type: 'offline',
      login_hint: 'octocat',
      redirect_uri: redirectUri.href,
      response_type: 'code',
      client_id: 'postern',
      state,
    });
  });
});

describe('denials and failures', () => {
  it('reports a denial as access_denied, and never calls the token endpoint', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice', { decision: 'deny' });
    const error = await failureOf(finish(at, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] }));
    expect(error).toMatchObject({ code: 'access_denied', retryable: false });
    expect(op.requests('token')).toHaveLength(0);
  });

  it('T5: a callback of another transaction never reaches the token endpoint', async () => {
    const at = provider();
    const start = await at.start({ redirectUri, state: 'of somebody else', scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const finished = finish(at, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
    expect(await failureCodeOf(finished, [callbackUrl.searchParams.get('code') ?? ''])).toBe('state_mismatch');
    expect(op.requests('token')).toHaveLength(0);
  });

  it.each([
    ['429', { status: 429, headers: { 'retry-after': '30' } }],
    ['500', { status: 500, body: canaries.description }],
    ['502', { status: 502, body: '<html>' }],
    ['503', { status: 503 }],
    ['a broken connection', { drop: 'before' }],
    ['N2: a lost response', { drop: 'after' }],
  ] as const)(
    'N1: %s at the token endpoint can be retried by the user; the code is not sent twice',
    async (_, fault) => {
      const at = provider();
      const start = await at.start({ redirectUri, state, scopes: ['repo'] });
      const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
      op.fault({ endpoint: 'token', ...fault });
      const finished = finish(at, { ...start, callbackUrl, redirectUri, state, scopes: ['repo'] });
      const error = await failureOf(finished, [callbackUrl.searchParams.get('code') ?? '', start.codeVerifier]);
      expect(error).toMatchObject({ code: 'provider_unavailable', retryable: true });
      expect(op.requests('token')).toHaveLength(1);

      op.clearFaults();
      expect((await connect(at)).scopes).toEqual(['repo']);
    },
  );

  it('N2: treats a timeout of the token endpoint like a lost response', async () => {
    await using impatient = createOutboundFetch({ allowLoopback: true, timeoutMs: 200 });
    const config = providerConfigSchema.parse({
      name: 'tracker',
      displayName: 'Tracker',
      ...explicit(),
      clientId: 'postern',
      clientSecret,
    });
    const at = createProviderRegistry({ providers: [config], fetch: impatient, now: () => now }).get('tracker');
    op.fault({ endpoint: 'token', hang: true });
    const exchange =
      at?.exchange({ ...canaries, redirectUri, scopes: [], expectedIssuer: undefined, clientId: 'postern' }) ??
      Promise.resolve();
    expect(await failureOf(exchange)).toMatchObject({ code: 'provider_unavailable', retryable: true });
  });

  it('reports a wrong client secret as not retryable', async () => {
    const at = provider({ clientId: 'postern', clientSecret: 'canary-wrong-secret' });
    const origin = { redirectUri, expectedIssuer: op.issuer, clientId: 'postern' };
    const exchange = at.exchange({ ...canaries, ...origin, scopes: ['repo'] });
    expect(await failureOf(exchange, ['canary-wrong-secret'])).toMatchObject({
      code: 'provider_error',
      providerError: 'invalid_client',
      retryable: false,
    });
  });
});

describe('S19: scopes and resources', () => {
  it('reports which of the requested scopes were granted', async () => {
    const grant = await connect(provider(), { scopes: ['repo', 'gist'], user: 'bob', grantScopes: ['gist'] });
    expect(grant.scopes).toEqual(['gist']);
  });

  it('requests the default scopes if none are named, and always the base scopes', () => {
    const at = provider({ baseScopes: ['offline_access'], defaultScopes: ['repo'] });
    expect(at.requestedScopes([])).toEqual(['offline_access', 'repo']);
    expect(at.requestedScopes(['gist', 'gist'])).toEqual(['offline_access', 'gist']);
  });

  it('requests only described scopes if the configuration describes any', async () => {
    const at = provider({ scopes: { repo: 'Your repositories' }, baseScopes: ['offline_access'] });
    expect(at.requestedScopes(['repo'])).toEqual(['offline_access', 'repo']);
    expect(await failureCodeOf(at.start({ redirectUri, state, scopes: ['repo', 'gist'] }))).toBe('scope_not_allowed');
    expect(at.scopeDescriptions['repo']).toEqual({ text: 'Your repositories' });
  });

  it('says of each scope what it allows at most, as far as that is known', () => {
    const { scopeDescriptions } = provider({
      scopes: { repo: { text: 'Your repositories', access: 'delete' }, gist: 'Your gists', profile: 'Your life' },
      scopeDescriptions: { gist: { access: 'change' }, email: { text: { en: 'Your address' }, access: 'see' } },
    });
    expect(scopeDescriptions).toEqual({
      repo: { text: 'Your repositories', access: 'delete' },
      gist: { text: 'Your gists', access: 'change' },
      // A description without access says nothing, not even of a standard scope.
      profile: { text: 'Your life' },
      email: { text: { en: 'Your address' }, access: 'see' },
      openid: { access: 'see' },
      offline_access: { access: 'see' },
    });
  });

  it.each(['repo gist', '', 'a"b', 'a\\b', 'a\u0000'])('refuses %j as a scope', async scope => {
    expect(await failureCodeOf(() => provider().requestedScopes([scope]))).toBe('scope_not_allowed');
  });

  it('T9: sends a configured resource at both endpoints, and refuses any other', async () => {
    const at = provider({ resources: [resource] });
    const start = await at.start({ redirectUri, state, scopes: ['repo'], resource });
    expect(start.authorizationUrl.searchParams.get('resource')).toBe(resource);
    await connect(at, { resource });
    expect(op.requests('token').at(-1)?.form['resource']).toBe(resource);

    const other = { redirectUri, state, scopes: ['repo'], resource: 'https://other.example' };
    expect(await failureCodeOf(at.start(other))).toBe('resource_not_allowed');
  });
});

describe('the connected account', () => {
  it('comes from the ID token, requested with openid and a nonce', async () => {
    const at = provider({ account: { from: 'id_token', nameClaim: 'preferred_username' } });
    const start = await at.start({ redirectUri, state, scopes: ['repo', 'profile'] });
    expect(start.authorizationUrl.searchParams.get('nonce')).toBe(start.nonce);
    const grant = await connect(at, { scopes: ['repo', 'profile'], user: 'bob' });
    expect(grant.account).toEqual({ id: 'bob', name: 'bob' });
    expect(grant.scopes).toEqual(['openid', 'repo', 'profile']);
    expect(op.requests('userinfo')).toHaveLength(0);
  });

  it('comes from the userinfo endpoint', async () => {
    const at = provider({ account: { from: 'userinfo', nameClaim: 'email' }, baseScopes: ['openid', 'email'] });
    expect((await connect(at)).account).toEqual({ id: 'alice', name: 'alice@example.com' });
  });

  it('is not guessed if the userinfo endpoint fails', async () => {
    const at = provider({ account: { from: 'userinfo' }, baseScopes: ['openid'] });
    op.fault({ endpoint: 'userinfo', status: 404, times: 1, body: '{"sub":"alice"}' });
    expect(await failureCodeOf(connect(at))).toBe('invalid_userinfo');
    op.fault({ endpoint: 'userinfo', status: 403, times: 1, body: '{"sub":"alice"}' });
    expect(await connect(at)).not.toHaveProperty('account');
  });
});

describe('single sign-on at the provider', () => {
  it('returns a new code without another consent', async () => {
    const at = provider();
    const jar = createCookieJar();
    const first = await at.start({ redirectUri, state, scopes: ['repo'] });
    await driveAuthorization(first.authorizationUrl, 'alice', { jar });
    op.clearRequests();
    const second = await at.start({ redirectUri, state, scopes: ['repo'] });
    const callbackUrl = await driveAuthorization(second.authorizationUrl, 'unused', { jar });
    expect(op.requests('interaction')).toHaveLength(0);
    expect(callbackUrl.searchParams.get('code')).not.toBeNull();
  });
});

describe('createProviderRegistry', () => {
  it('sends no request when it is created', () => {
    const config = providerConfigSchema.parse({
      name: 'tracker',
      displayName: 'Tracker',
      issuer: op.issuer,
      clientId: 'postern',
    });
    const registry = createProviderRegistry({ providers: [config], fetch, now: () => now });
    expect(registry.names).toEqual(['tracker']);
    expect(registry.get('other')).toBeUndefined();
    expect(op.requests()).toHaveLength(0);
    expect(() => createProviderRegistry({ providers: [config, config], fetch, now: () => now })).toThrow(TypeError);
  });
});
