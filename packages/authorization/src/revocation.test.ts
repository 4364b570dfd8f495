import {
  driveAuthorization,
  type EvilProvider,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectBy, held, providerFrom, redirectUri } from './connect-fixture.ts';
import { newDpopKey } from './dpop.ts';
import { canaries, failureCodeOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { recorder } from './outbound-fetch-fixture.ts';
import type { ProviderConfigInput } from './provider-config.ts';

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
    ['with a secret', {}],
    ['public', { clientId: 'postern-public' }],
  ])('the refresh token, and with it the grant (client %s)', async (_, changes) => {
    const at = provider(changes);
    const grant = await connect(at);
    expect([at.revocationReach, at.isRevocable]).toEqual(['token', true]);
    expect(await at.revoke(held(grant))).toBe('revoked');
    expect(op.tokens.statusOf(grant.accessToken)).toBe('revoked');
    expect(op.revocations()).toMatchObject([{ kind: 'refresh_token', hint: 'refresh_token', status: 200 }]);
    expect(op.secretsInQueries()).toEqual([]);
    expect(await failureCodeOf(at.refresh(held(grant)))).toBe('grant_refused');
  });

  it('the access token where there is no other, or where configured', async () => {
    const { refreshToken: _, ...grant } = held(await connect(provider()));
    expect(await provider().revoke(grant)).toBe('revoked');
    const at = provider({ revocation: { token: 'access_token' } });
    expect(await at.revoke(held(await connect(at)))).toBe('revoked');
    expect(op.revocations().map(({ kind, hint }) => [kind, hint])).toEqual([
      ['access_token', 'access_token'],
      ['access_token', 'access_token'],
    ]);
  });

  it('again, and of what nobody knows', async () => {
    const grant = await connect(provider());
    await provider().revoke(held(grant));
    expect(await provider().revoke(held(grant))).toBe('revoked');
    expect(await provider().revoke({ accessToken: 'unheard-of', redirectUri, issuer: op.issuer })).toBe('revoked');
  });

  it.each([
    ['503', { status: 503 }, 'provider_unavailable'],
    ['no connection', { drop: 'before' }, 'provider_unavailable'],
    ['a wrong secret', { status: 401, body: '{"error":"invalid_client"}' }, 'provider_error'],
    ['a page', { status: 403, body: '<html>' }, 'invalid_revocation_response'],
  ] as const)('trouble is no revocation, and nothing is repeated: %s', async (_, fault, code) => {
    const grant = await connect(provider());
    op.fault({ endpoint: 'revocation', ...fault });
    expect(await failureCodeOf(provider().revoke(held(grant)))).toBe(code);
    expect(op.requests('revocation')).toHaveLength(1);
    expect(op.tokens.isLive(grant.accessToken)).toBe(true);
  });

  it('is unsupported where there is no endpoint', async () => {
    await using none = await startEvilProvider({ clientId: 'postern' });
    const discovered = providerFrom({ issuer: none.issuer, clientSecret }, { fetch });
    expect(await discovered.revoke({ accessToken, redirectUri, issuer: none.issuer })).toBe('unsupported');
    const explicit = { authorizationEndpoint: `${none.issuer}/auth`, tokenEndpoint: `${none.issuer}/token` };
    const at = providerFrom({ ...explicit, clientSecret }, { fetch });
    expect(at.isRevocable).toBe(false);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined })).toBe('unsupported');
    expect(none.requests().map(({ endpoint }) => endpoint)).toEqual(['metadata']);
  });
});

describe('S24: other ways', () => {
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
      ...tokens,
    });

  it.each([
    ['invalid_token', 'revoked'],
    ['unsupported_token_type', 'unsupported'],
  ])('RFC 7009: 400 %s → %s', async (error, result) => {
    evil.revocationAnswer = () => ({ status: 400, body: { error } });
    expect(await revoke()).toBe(result);
  });

  it('as bearer: a POST without a body', async () => {
    expect(await revoke({ revocation: { style: 'bearer' } })).toBe('revoked');
    expect(evil.requests('revocation')[0]).toMatchObject({
      method: 'POST',
      body: '',
      headers: { authorization: `Bearer ${accessToken}` },
    });
  });

  it('as bearer of a token that has ended: no revocation, because a refresh token may live on', async () => {
    evil.revocationAnswer = () => ({ status: 401, body: { error: 'invalid_token' } });
    expect(await failureCodeOf(revoke({ revocation: { style: 'bearer' } }))).toBe('provider_error');
    const revocation = { style: 'bearer' as const, unknownTokenErrors: ['invalid_token'] };
    expect(await revoke({ revocation })).toBe('revoked');
  });

  it('as bearer of a bound token: with a proof, and once more with the nonce', async () => {
    const at = providerFrom({ issuer: evil.issuer, clientSecret, revocation: { style: 'bearer' } }, { fetch });
    evil.answerNext('revocation', { status: 401, headers: { 'dpop-nonce': 'a-nonce' }, body: '' });
    expect(await at.revoke({ accessToken, redirectUri, issuer: evil.issuer, dpopKey: await newDpopKey() })).toBe(
      'revoked',
    );
    const requests = evil.requests('revocation');
    expect(requests.map(({ headers }) => headers['authorization'])).toEqual(Array(2).fill(`DPoP ${accessToken}`));
    expect(requests.map(({ headers }) => typeof headers['dpop'])).toEqual(['string', 'string']);
  });

  it('a form with the client in it', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const revocation = { style: 'custom', endpoint, parameter: 'key' } as const;
    const post = { clientAuthentication: 'client_secret_post', revocation } as const;
    expect(await revoke(post, { refreshToken: 'r' })).toBe('revoked');
    expect(evil.requests('revocation')[0]?.form).toEqual({
      key: 'r',
      client_id: 'postern',
      client_secret: clientSecret,
    });
    expect(evil.requests('revocation')[0]?.url.search).toBe('');
  });

  it('the client by HTTP Basic, whatever the token endpoint wants', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const revocation = { style: 'custom', endpoint, body: 'json', authentication: 'basic' } as const;
    expect(await revoke({ clientAuthentication: 'client_secret_post', revocation })).toBe('revoked');
    expect(evil.requests('revocation')[0]).toMatchObject({
      body: JSON.stringify({ token: accessToken }),
      headers: { authorization: `Basic ${btoa(`postern:${clientSecret}`)}` },
    });
  });

  it.each(['client', 'basic', 'bearer', 'none'] as const)('a challenge without a code, to %s', async authentication => {
    evil.revocationAnswer = () => ({ status: 401, headers: { 'www-authenticate': 'Bearer' }, body: '' });
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const attempt = revoke({ revocation: { style: 'custom', endpoint, authentication } });
    const isAboutClient = authentication === 'client' || authentication === 'basic';
    expect(await failureCodeOf(attempt)).toBe(isAboutClient ? 'provider_error' : 'invalid_revocation_response');
  });

  it.each([
    ['a/b?c=#d', '/revocation/a%2Fb%3Fc%3D%23d/token'],
    ['$&', '/revocation/%24%26/token'],
    ['...', '/revocation/.../token'],
  ])('the client id %s is one segment of the path', async (clientId, path) => {
    const { asked, fetch } = recorder(204);
    const endpoint = 'https://as.example/revocation/{clientId}/token';
    const revocation = { style: 'custom', endpoint, method: 'DELETE' } as const;
    const issuerless = { authorizationEndpoint: 'https://as.example/a', tokenEndpoint: 'https://as.example/t' };
    const at = providerFrom({ ...issuerless, clientId, clientSecret, revocation }, { fetch });
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined })).toBe('revoked');
    expect(asked.map(({ url }) => new URL(url).pathname)).toEqual([path]);
  });

  it.each(['.', '..'])('the client id %s leads nowhere', async clientId => {
    const { asked, fetch } = recorder(204);
    const endpoint = 'https://as.example/revocation/{clientId}/token';
    const issuerless = { authorizationEndpoint: 'https://as.example/a', tokenEndpoint: 'https://as.example/t' };
    const at = providerFrom({ ...issuerless, clientId, clientSecret, revocation: { endpoint } }, { fetch });
    expect(await failureCodeOf(at.revoke({ accessToken, redirectUri, issuer: undefined }))).toBe(
      'invalid_registration',
    );
    expect(asked).toEqual([]);
  });

  it('nobody at all', async () => {
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    await revoke({ revocation: { style: 'custom', endpoint, authentication: 'none' } });
    expect(evil.requests('revocation')[0]?.form).toEqual({ token: accessToken });
    expect(evil.requests('revocation')[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['a redirect', { status: 302, headers: { location: 'http://localhost:1/' }, body: '' }, 'outbound_redirect'],
    ['a sign that is missing', { body: '{}' }, 'invalid_revocation_response'],
    ['a sign that contradicts itself', { body: '{"ok":false,"ok":true}' }, 'invalid_revocation_response'],
    ['no sign at all', { body: '' }, 'invalid_revocation_response'],
  ])('%s is no revocation', async (_, answer, code) => {
    evil.revocationAnswer = () => answer;
    const endpoint = evil.optionalEndpoints.revocation_endpoint;
    const success = { member: 'ok', equals: true };
    expect(await failureCodeOf(revoke({ revocation: { style: 'custom', endpoint, success } }))).toBe(code);
  });
});
