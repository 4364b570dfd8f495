import {
  driveAuthorization,
  type EvilAnswer,
  type EvilProvider,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newDpopKey } from './dpop.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, held, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';
import { recorder } from './testing/outbound-fetch-fixture.ts';

const { clientSecret, accessToken } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());

describe('S24: revocation at a real provider', () => {
  let op: TestProvider;
  beforeAll(async () => {
    op = await startOpenIdProvider({
      scopes: ['repo'],
      clients: [
        { clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] },
        { clientId: 'postern-public', redirectUris: [redirectUri.href] },
      ],
    });
  });
  beforeEach(() => {
    op.clearRequests();
    op.clearFaults();
  });
  afterAll(() => op.close());
  const provider = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: op.issuer, ...(!changes.clientId && { clientSecret }), ...changes }, { fetch });

  it.each([
    ['confidential', {}],
    ['public', { clientId: 'postern-public' }],
  ])('revokes both tokens, and with them the grant (%s client)', async (_, changes) => {
    const at = provider(changes);
    const grant = await connect(at);
    expect([at.revocationReach, await at.isRevocable()]).toEqual(['token', true]);
    expect(await at.revoke(held(grant))).toBe('revoked');
    expect(op.tokens.statusOf(grant.accessToken)).toBe('revoked');
    expect(op.revocations()).toMatchObject([
      { kind: 'refresh_token', hint: 'refresh_token', status: 200 },
      { kind: 'access_token', hint: 'access_token', status: 200 },
    ]);
    expect(op.secretsInQueries()).toEqual([]);
    expect(await failureCodeOf(at.refresh(held(grant)))).toBe('grant_refused');
  });

  it('revokes only the access token if there is no refresh token, or if configured', async () => {
    const { refreshToken: _, ...grant } = held(await connect(provider()));
    expect(await provider().revoke(grant)).toBe('revoked');
    const at = provider({ revocation: { token: 'access_token' } });
    expect(await at.revoke(held(await connect(at)))).toBe('access_token_revoked');
    expect(op.revocations().map(({ kind, hint }) => [kind, hint])).toEqual([
      ['access_token', 'access_token'],
      ['access_token', 'access_token'],
    ]);
  });

  it('succeeds for a revoked grant and for an unknown token', async () => {
    const grant = await connect(provider());
    await provider().revoke(held(grant));
    expect(await provider().revoke(held(grant))).toBe('revoked');
    expect(
      await provider().revoke({ accessToken: 'unheard-of', redirectUri, issuer: op.issuer, clientId: 'postern' }),
    ).toBe('revoked');
  });

  it.each([
    ['503', { status: 503 }, 'provider_unavailable', 1],
    ['no connection', { drop: 'before' }, 'provider_unavailable', 1],
    ['a wrong secret', { status: 401, body: '{"error":"invalid_client"}' }, 'provider_error', 2],
    ['an HTML page', { status: 403, body: '<html>' }, 'invalid_revocation_response', 2],
  ] as const)('reports a failed revocation and repeats no request: %s', async (_, fault, code, requests) => {
    const grant = await connect(provider());
    op.fault({ endpoint: 'revocation', ...fault });
    expect(await failureCodeOf(provider().revoke(held(grant)))).toBe(code);
    expect(op.requests('revocation')).toHaveLength(requests);
    expect(op.tokens.isLive(grant.accessToken)).toBe(true);
  });

  it('is unsupported without an endpoint', async () => {
    await using none = await startEvilProvider({ clientId: 'postern' });
    const discovered = providerFrom({ issuer: none.issuer, clientSecret }, { fetch });
    expect(await discovered.isRevocable()).toBe(false);
    expect(await discovered.revoke({ accessToken, redirectUri, issuer: none.issuer, clientId: 'postern' })).toBe(
      'unsupported',
    );
    const explicit = { authorizationEndpoint: `${none.issuer}/auth`, tokenEndpoint: `${none.issuer}/token` };
    const at = providerFrom({ ...explicit, clientSecret }, { fetch });
    expect(await at.isRevocable()).toBe(false);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })).toBe('unsupported');
    expect(none.requests().map(({ endpoint }) => endpoint)).toEqual(['metadata']);
  });
});

describe('S81: a provider that does not end the access token with the refresh token', () => {
  let op: TestProvider;
  beforeAll(async () => {
    op = await startOpenIdProvider({
      scopes: ['repo'],
      clients: [{ clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] }],
      revocationCascades: false,
    });
  });
  beforeEach(() => op.clearRequests());
  afterAll(() => op.close());
  const provider = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: op.issuer, clientSecret, ...changes }, { fetch });
  const apiStatus = async (token: string) =>
    (await globalThis.fetch(`${op.origin}/api/me`, { headers: { authorization: `Bearer ${token}` } })).status;

  it('refuses both tokens afterwards', async () => {
    const at = provider();
    const grant = await connect(at);
    expect(await apiStatus(grant.accessToken)).toBe(200);
    expect(await at.revoke(held(grant))).toBe('revoked');
    expect(await apiStatus(grant.accessToken)).toBe(401);
    expect(await failureCodeOf(at.refresh(held(grant)))).toBe('grant_refused');
    expect(op.revocations().map(({ kind }) => kind)).toEqual(['refresh_token', 'access_token']);
  });

  it('keeps accepting the access token if only the refresh token is sent, and the result says so', async () => {
    const at = provider({ revocation: { token: 'refresh_token' } });
    const grant = await connect(at);
    expect(await at.revoke(held(grant))).toBe('refresh_token_revoked');
    expect(await apiStatus(grant.accessToken)).toBe(200);
  });

  it('confirms no access token that is a JWT (RFC 7009 section 2.2.1)', async () => {
    const resource = 'https://api.example.com/';
    op.switches.accessTokenFormat = 'jwt';
    const at = provider({ resources: [resource] });
    const start = await at.start({ redirectUri, state: canaries.state, scopes: ['repo'], resource });
    const callbackUrl = await driveAuthorization(start.authorizationUrl, 'alice');
    const scopes = ['repo'];
    const grant = await finish(at, { ...start, callbackUrl, redirectUri, state: canaries.state, scopes, resource });
    expect(grant.accessToken.split('.')).toHaveLength(3);
    expect(await at.revoke(held(grant))).toBe('refresh_token_revoked');
    expect(await failureCodeOf(at.refresh(held(grant)))).toBe('grant_refused');
    expect(op.revocations()).toMatchObject([{ status: 200 }, { status: 400 }]);
  });
});

describe('S81: the revocation of two tokens', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('revocation_endpoint');
  });
  afterEach(() => evil.close());
  const ok = { body: '' };
  const refused = (error: string) => ({ status: 400, body: { error } });
  const answers = (refresh: EvilAnswer, access: EvilAnswer) => {
    evil.revocationAnswer = form => (form.get('token_type_hint') === 'refresh_token' ? refresh : access);
  };
  const provider = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: evil.issuer, clientSecret, ...changes }, { fetch });
  const tokens = { accessToken, refreshToken: 'refresh-1', redirectUri, clientId: 'postern' };
  const revoke = (changes?: Partial<ProviderConfigInput>) =>
    provider(changes).revoke({ ...tokens, issuer: evil.issuer });
  const sent = () => evil.requests('revocation').map(({ form }) => form['token']);

  it.each([
    { refresh: ok, access: ok, result: 'revoked' },
    { refresh: ok, access: refused('invalid_token'), result: 'revoked' },
    { refresh: ok, access: refused('unsupported_token_type'), result: 'refresh_token_revoked' },
    { refresh: ok, access: refused('invalid_request'), result: 'refresh_token_revoked' },
    { refresh: refused('unsupported_token_type'), access: ok, result: 'access_token_revoked' },
    {
      refresh: refused('unsupported_token_type'),
      access: refused('unsupported_token_type'),
      result: 'unsupported',
    },
  ])('yields $result after the responses $refresh and $access', async ({ refresh, access, result }) => {
    answers(refresh, access);
    expect(await revoke()).toBe(result);
    expect(sent()).toEqual(['refresh-1', accessToken]);
  });

  it.each([
    { refresh: ok, access: { status: 503, body: '' }, code: 'provider_unavailable', confirmed: 'refresh_token' },
    {
      refresh: ok,
      access: refused('temporarily_unavailable'),
      code: 'provider_unavailable',
      confirmed: 'refresh_token',
    },
    {
      refresh: ok,
      access: { status: 403, body: '<html>' },
      code: 'invalid_revocation_response',
      confirmed: 'refresh_token',
    },
    { refresh: refused('invalid_request'), access: ok, code: 'provider_error', confirmed: 'access_token' },
    {
      refresh: refused('invalid_client'),
      access: refused('invalid_client'),
      code: 'provider_error',
      confirmed: undefined,
    },
  ])('after $refresh and $access fails with $code and confirms $confirmed, and a retry sends both tokens', async p => {
    answers(p.refresh, p.access);
    const { code, confirmed } = await failureOf(revoke());
    expect({ code, confirmed }).toEqual({ code: p.code, confirmed: p.confirmed });
    answers(ok, ok);
    expect(await revoke()).toBe('revoked');
    expect(sent()).toEqual(['refresh-1', accessToken, 'refresh-1', accessToken]);
  });

  it('skips the second token if the provider is down', async () => {
    answers({ status: 503, body: '' }, ok);
    expect((await failureOf(revoke())).confirmed).toBeUndefined();
    expect(sent()).toEqual(['refresh-1']);
  });

  it.each(['connection', 'grant'] as const)('sends one token if that ends both: reach %s', async reach => {
    expect(await revoke({ revocation: { reach } })).toBe('revoked');
    expect(sent()).toEqual(['refresh-1']);
  });

  it('sends one token with other styles, and does not confirm the other one', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const custom = { endpoint, style: 'custom', authentication: 'none' } as const;
    const results = [];
    for (const revocation of [
      { style: 'bearer' },
      { ...custom, method: 'DELETE', body: 'none', authentication: 'bearer' },
      { ...custom, method: 'DELETE', body: 'none', authentication: 'bearer', reach: 'connection' },
      { ...custom, token: 'access_token' },
      { ...custom },
    ] as const) {
      results.push(await revoke({ revocation }));
    }
    expect(results).toEqual([
      'access_token_revoked',
      'access_token_revoked',
      'revoked',
      'access_token_revoked',
      'refresh_token_revoked',
    ]);
  });

  it('is reported as possible if the metadata offers it or cannot be read', async () => {
    expect(await provider().isRevocable()).toBe(true);
    evil.metadata['issuer'] = 'https://other.example';
    expect(await provider().isRevocable()).toBe(true);
  });
});

describe('S24: a configured revocation', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('revocation_endpoint');
  });
  afterEach(() => evil.close());
  const revoke = (changes: Partial<ProviderConfigInput> = {}, tokens: { refreshToken?: string } = {}) =>
    providerFrom({ issuer: evil.issuer, clientSecret, ...changes }, { fetch }).revoke({
      accessToken,
      redirectUri,
      issuer: evil.issuer,
      clientId: 'postern',
      ...tokens,
    });

  it.each([
    ['invalid_token', 'revoked'],
    ['unsupported_token_type', 'unsupported'],
  ])('by RFC 7009: the error %s means %s', async (error, result) => {
    evil.revocationAnswer = () => ({ status: 400, body: { error } });
    expect(await revoke()).toBe(result);
  });

  it('as bearer sends a POST without a body', async () => {
    expect(await revoke({ revocation: { style: 'bearer' } })).toBe('revoked');
    expect(evil.requests('revocation')[0]).toMatchObject({
      method: 'POST',
      body: '',
      headers: { authorization: `Bearer ${accessToken}` },
    });
  });

  it('as bearer fails with an expired access token, because the refresh token may still be valid', async () => {
    evil.revocationAnswer = () => ({ status: 401, body: { error: 'invalid_token' } });
    expect(await failureCodeOf(revoke({ revocation: { style: 'bearer' } }))).toBe('provider_error');
    const revocation = { style: 'bearer' as const, unknownTokenErrors: ['invalid_token'] };
    expect(await revoke({ revocation })).toBe('revoked');
  });

  it('as bearer of a bound token sends a proof, and repeats it with the nonce', async () => {
    const at = providerFrom({ issuer: evil.issuer, clientSecret, revocation: { style: 'bearer' } }, { fetch });
    evil.answerNext('revocation', { status: 401, headers: { 'dpop-nonce': 'a-nonce' }, body: '' });
    const origin = { redirectUri, issuer: evil.issuer, clientId: 'postern' };
    expect(await at.revoke({ accessToken, ...origin, dpopKey: await newDpopKey() })).toBe('revoked');
    const requests = evil.requests('revocation');
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual(Array(2).fill(`DPoP ${accessToken}`));
    expect(requests.map(({ headers }) => typeof headers['dpop'])).toEqual(['string', 'string']);
  });

  it('sends the client credentials in the form', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const revocation = { style: 'custom', endpoint, parameter: 'key' } as const;
    const post = { clientAuthentication: 'client_secret_post', revocation } as const;
    expect(await revoke(post, { refreshToken: 'r' })).toBe('refresh_token_revoked');
    expect(evil.requests('revocation')[0]?.form).toEqual({
      key: 'r',
      client_id: 'postern',
      client_secret: clientSecret,
    });
    expect(evil.requests('revocation')[0]?.url.search).toBe('');
  });

  it('authenticates with HTTP Basic regardless of the token endpoint', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const revocation = { style: 'custom', endpoint, body: 'json', authentication: 'basic' } as const;
    expect(await revoke({ clientAuthentication: 'client_secret_post', revocation })).toBe('revoked');
    expect(evil.requests('revocation')[0]).toMatchObject({
      body: JSON.stringify({ token: accessToken }),
      headers: { authorization: `Basic ${btoa(`postern:${clientSecret}`)}` },
    });
  });

  it.each(['client', 'basic', 'bearer', 'none'] as const)(
    'fails after a challenge without an error code (authentication %s)',
    async authentication => {
      evil.revocationAnswer = () => ({ status: 401, headers: { 'www-authenticate': 'Bearer' }, body: '' });
      const endpoint = evil.optionalEndpoints.revocation_endpoint;
      const attempt = revoke({ revocation: { style: 'custom', endpoint, authentication } });
      // Nothing in it names the client: it may be the page of a proxy.
      expect(await failureCodeOf(attempt)).toBe('invalid_revocation_response');
    },
  );

  it.each([
    ['a/b?c=#d', '/revocation/a%2Fb%3Fc%3D%23d/token'],
    ['$&', '/revocation/%24%26/token'],
    ['...', '/revocation/.../token'],
  ])('encodes the client id %s as one path segment', async (clientId, path) => {
    const { asked, fetch } = recorder(204);
    const endpoint = 'https://as.example/revocation/{clientId}/token';
    const revocation = { style: 'custom', endpoint, method: 'DELETE' } as const;
    const issuerless = { authorizationEndpoint: 'https://as.example/a', tokenEndpoint: 'https://as.example/t' };
    const at = providerFrom({ ...issuerless, clientId, clientSecret, revocation }, { fetch });
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId })).toBe('revoked');
    expect(asked.map(({ url }) => new URL(url).pathname)).toEqual([path]);
  });

  it.each(['.', '..'])('sends no request with the client id %s', async clientId => {
    const { asked, fetch } = recorder(204);
    const endpoint = 'https://as.example/revocation/{clientId}/token';
    const issuerless = { authorizationEndpoint: 'https://as.example/a', tokenEndpoint: 'https://as.example/t' };
    const at = providerFrom({ ...issuerless, clientId, clientSecret, revocation: { endpoint } }, { fetch });
    expect(await failureCodeOf(at.revoke({ accessToken, redirectUri, issuer: undefined, clientId }))).toBe(
      'invalid_registration',
    );
    expect(asked).toEqual([]);
  });

  it('sends no client authentication if it is configured as none', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    await revoke({ revocation: { style: 'custom', endpoint, authentication: 'none' } });
    expect(evil.requests('revocation')[0]?.form).toEqual({ token: accessToken });
    expect(evil.requests('revocation')[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['a redirect', { status: 302, headers: { location: 'http://localhost:1/' }, body: '' }, 'outbound_redirect'],
    ['a missing success member', { body: '{}' }, 'invalid_revocation_response'],
    ['a duplicate success member', { body: '{"ok":false,"ok":true}' }, 'invalid_revocation_response'],
    ['an empty body', { body: '' }, 'invalid_revocation_response'],
  ])('fails after %s', async (_, answer, code) => {
    evil.revocationAnswer = () => answer;
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const success = { member: 'ok', equals: true };
    expect(await failureCodeOf(revoke({ revocation: { style: 'custom', endpoint, success } }))).toBe(code);
  });
});
