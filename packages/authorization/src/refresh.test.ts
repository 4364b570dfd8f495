import {
  driveAuthorization,
  type EvilProvider,
  honestRefresh,
  malformedTokenAnswers,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
  untidyTokenAnswers,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AuthorizationError } from './authorization-error.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, held, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureOf } from './testing/failure-of.ts';

const { clientSecret } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());
const connect = connectBy(driveAuthorization);

describe('S22: refresh at a real provider', () => {
  let op: TestProvider;
  let now = Date.now();
  const provider = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: op.issuer, clientSecret, ...changes }, { fetch, now: () => now });

  beforeAll(async () => {
    op = await startOpenIdProvider({
      scopes: ['repo', 'gist'],
      clients: [{ clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] }],
    });
  });
  beforeEach(() => {
    now = Date.now();
    op.switches.refreshTokens = 'rotate-strict';
    op.switches.rewriteTokenAnswer = undefined;
    op.clearFaults();
  });
  afterAll(() => op.close());

  it('returns the new tokens, their expiry by our clock, and the scopes', async () => {
    const grant = await connect(provider());
    now += 1000;
    const refreshed = await provider().refresh(held(grant));
    expect(refreshed).toMatchObject({ tokenType: 'bearer', scopes: ['repo'], expiresAt: now + 3_600_000 });
    expect(op.tokens.statusOf(refreshed.accessToken)).toBe('current');
    expect(refreshed.refreshToken).not.toBe(grant.refreshToken);
    expect(op.tokens.kindOf(refreshed.refreshToken ?? '')).toBe('refresh_token');
  });

  it.each(['static', 'static-repeated'] as const)('keeps a refresh token that does not rotate (%s)', async mode => {
    op.switches.refreshTokens = mode;
    const grant = await connect(provider());
    const refreshed = await provider().refresh(held(grant));
    expect(refreshed.refreshToken).toBe(mode === 'static' ? undefined : grant.refreshToken);
    expect((await provider().refresh(held(grant))).accessToken).not.toBe(refreshed.accessToken);
  });

  it('ignores an ID token in the response', async () => {
    const grant = await connect(provider(), { scopes: ['openid', 'repo'] });
    op.switches.rewriteTokenAnswer = answer => ({ ...answer, id_token: 'not.an.id-token' });
    const refreshed = await provider().refresh(held(grant));
    expect(op.tokens.statusOf(refreshed.accessToken)).toBe('current');
    expect(refreshed).not.toHaveProperty('idToken');
  });

  it('T10: fails with grant_refused if the refresh token was used before', async () => {
    const grant = await connect(provider());
    const refreshed = await provider().refresh(held(grant));
    const again = await failureOf(provider().refresh(held(grant)), [grant.refreshToken ?? '']);
    expect(again).toMatchObject({ code: 'grant_refused', providerError: 'invalid_grant', retryable: false });
    const successor = provider().refresh(held({ ...grant, ...refreshed }));
    expect(await failureOf(successor)).toMatchObject({ code: 'grant_refused' });
  });

  it('fails with grant_refused if the user has ended the grant', async () => {
    const grant = await connect(provider());
    await op.endGrant(op.tokens.grantOf(grant.accessToken)?.grantId ?? '');
    expect(await failureOf(provider().refresh(held(grant)))).toMatchObject({ code: 'grant_refused' });
  });

  it.each([
    ['429', { status: 429 }, 'provider_unavailable'],
    ['503', { status: 503, body: '{"error":"invalid_grant"}' }, 'provider_unavailable'],
    ['S226: 408', { status: 408, body: '{"error":"invalid_grant"}' }, 'provider_unavailable'],
    ['S226: 425', { status: 425, body: '{"error":"invalid_grant"}' }, 'provider_unavailable'],
    [
      'S226: Retry-After',
      { status: 400, headers: { 'retry-after': '30' }, body: '{"error":"invalid_grant"}' },
      'provider_unavailable',
    ],
    ['no connection', { drop: 'before' }, 'provider_unavailable'],
    ['a lost response', { drop: 'after' }, 'provider_unavailable'],
    ['a firewall', { status: 403, body: '<html>invalid_grant' }, 'invalid_token_response'],
    ['a wrong secret', { status: 401, body: '{"error":"invalid_client"}' }, 'provider_error'],
    ['a wrong request', { status: 400, body: '{"error":"invalid_request"}' }, 'provider_error'],
    ['an unregistered error code', { status: 400, body: '{"error":"bad_mood"}' }, 'provider_error'],
  ] as const)('a failed refresh does not end the grant, and no request is repeated: %s', async (_, fault, code) => {
    const grant = await connect(provider());
    op.clearRequests();
    op.fault({ endpoint: 'token', grantType: 'refresh_token', ...fault });
    expect(await failureOf(provider().refresh(held(grant)))).toMatchObject({ code });
    expect(op.requests('token')).toHaveLength(1);
  });

  it('sends the configured parameters and keeps the scopes of the grant', async () => {
    const at = provider({ tokenParameters: { audience: 'api' }, refresh: { parameters: { prompt: 'none' } } });
    const grant = await connect(at, { scopes: ['repo', 'gist'], grantScopes: ['repo'] });
    expect(op.requests('token').at(-1)?.form).toMatchObject({ audience: 'api' });
    op.clearRequests();
    expect((await at.refresh(held(grant))).scopes).toEqual(['repo']);
    const { form } = op.requests('token')[0] ?? {};
    expect(form).toMatchObject({ grant_type: 'refresh_token', audience: 'api', prompt: 'none' });
    expect(form).not.toHaveProperty('scope');
  });

  it('keeps the held scopes if the response has no scope (RFC 6749 section 6)', async () => {
    const grant = await connect(provider());
    op.switches.rewriteTokenAnswer = ({ scope: _, ...answer }) => answer;
    expect((await provider().refresh({ ...held(grant), scopes: ['gist', 'repo'] })).scopes).toEqual(['gist', 'repo']);
  });

  it('T10: asks the caller after discovery whether the request may still be sent', async () => {
    const grant = await connect(provider());
    op.clearRequests();
    const beforeSending = () => {
      expect(op.requests().map(({ endpoint }) => endpoint)).toEqual(['metadata']);
      throw new AuthorizationError('too_late');
    };
    expect(await failureOf(provider().refresh({ ...held(grant), beforeSending }))).toMatchObject({ code: 'too_late' });
    expect(op.requests('token')).toEqual([]);
  });

  it('T4: sends the refresh token only to the issuer that granted it', async () => {
    await using other = await startEvilProvider({ clientId: 'postern' });
    const grant = await connect(provider());
    const since = provider({ issuer: other.issuer });
    for (const attempt of [since.refresh(held(grant)), since.revoke(held(grant))]) {
      expect(await failureOf(attempt)).toMatchObject({ code: 'issuer_mismatch' });
    }
    expect(other.requests()).toHaveLength(0);
  });
});

describe('N3: responses to a refresh', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());
  const refresh = (changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: evil.issuer, clientSecret, ...changes }, { fetch }).refresh({
      refreshToken: 'canary-refresh-token',
      scopes: ['repo'],
      redirectUri,
      issuer: evil.issuer,
      clientId: 'postern',
    });

  const codes: Partial<Record<string, string>> = {
    '20 MiB of JSON': 'outbound_too_large',
    'success with 500': 'provider_unavailable',
    redirect: 'outbound_redirect',
  };
  // A scope that cannot be read is one that has not changed, see below.
  const malformed = Object.keys(malformedTokenAnswers({})).filter(name => name !== 'scope of another kind');
  it.each(malformed)('are rejected without ending the grant: %s', async name => {
    const answers: Record<string, ReturnType<typeof evil.userinfoAnswer>> = malformedTokenAnswers(honestRefresh());
    const answer = answers[name];
    if (answer === undefined) throw new Error('the catalogue has changed');
    evil.tokenAnswer = () => answer;
    expect(await failureOf(refresh(), ['canary-refresh-token'])).toMatchObject({
      code: codes[name] ?? 'invalid_token_response',
    });
    expect(evil.requests('token')).toHaveLength(1);
  });

  it.each(Object.entries(untidyTokenAnswers(honestRefresh())))('S191: are accepted: %s', async (name, answer) => {
    evil.tokenAnswer = () => answer;
    const refreshed = refresh();
    await expect(refreshed).resolves.toMatchObject({ accessToken: honestRefresh()['access_token'], scopes: ['repo'] });
    // Without a new refresh token, the caller keeps the one it has.
    if (name.includes('refresh_token')) await expect(refreshed).resolves.not.toHaveProperty('refreshToken');
  });

  it.each<[string, Record<string, unknown>]>([
    ['an ID token of another kind', { id_token: false }],
    ['an ID token with a line break', { id_token: 'a.b.c\n' }],
    ['an ID token that is too long', { id_token: 'a'.repeat(70_000) }],
    ['a scope that is too long', { scope: 'meeting:read '.repeat(400) }],
    ['a scope of another kind', { scope: { admin: true } }],
    ['a scope that is a number', { scope: 1 }],
    ['an empty scope', { scope: '' }],
    ['a scope of spaces', { scope: ' ' }],
    ['a scope of separators', { scope: ', ,' }],
    ['a scope of other characters', { scope: '"\u00e4"' }],
    ['an empty list of scopes', { scope: [] }],
    ['a list of no scope', { scope: [null, ''] }],
  ])('S226: are accepted without what a refresh does not need: %s', async (_, changes) => {
    const { access_token: accessToken, refresh_token: refreshToken } = honestRefresh();
    evil.tokenAnswer = () => ({ body: honestRefresh(changes) });
    await expect(refresh()).resolves.toMatchObject({ accessToken, refreshToken, scopes: ['repo'] });
  });

  it('S226: are accepted although the metadata names no PKCE methods by now', async () => {
    evil.metadata['code_challenge_methods_supported'] = undefined;
    const { access_token: accessToken } = honestRefresh();
    await expect(refresh()).resolves.toMatchObject({ accessToken });
  });

  it('S226: are accepted with null in a list of scopes', async () => {
    evil.tokenAnswer = () => ({ body: honestRefresh({ scope: ['gist', null] }) });
    await expect(refresh()).resolves.toMatchObject({ scopes: ['gist'] });
  });

  it('are unreadable if they are errors of more than 64 KiB, whose texts are never searched', async () => {
    const long = (length: number) => ({ error: 'x', reasons: ['invalid_client', 'y'.repeat(length)] });
    evil.tokenAnswer = () => ({ status: 400, body: long(60_000) });
    expect(await failureOf(refresh())).toMatchObject({ code: 'provider_error', refuses: 'client' });
    evil.tokenAnswer = () => ({ status: 400, body: long(70_000) });
    const unreadable = await failureOf(refresh());
    expect([unreadable.code, unreadable.refuses]).toEqual(['invalid_token_response', undefined]);
    evil.tokenAnswer = () => ({ status: 401, body: ' '.repeat(70_000) });
    expect((await failureOf(refresh())).refuses).toBe('unclear');
  });

  it('are rejected with a DPoP token that was not requested', async () => {
    evil.tokenAnswer = () => ({ body: honestRefresh({ token_type: 'DPoP' }) });
    expect(await failureOf(refresh())).toMatchObject({ code: 'invalid_token_response' });
  });

  it('are reported after one request if they demand a DPoP nonce without a key', async () => {
    evil.tokenAnswer = () => ({ status: 400, headers: { 'dpop-nonce': 'x' }, body: { error: 'use_dpop_nonce' } });
    expect(await failureOf(refresh())).toMatchObject({ code: 'provider_error', providerError: 'use_dpop_nonce' });
    expect(evil.requests('token')).toHaveLength(1);
  });

  it('end the grant with invalid_grant at any error status, or with a configured code', async () => {
    for (const status of [400, 401, 403]) {
      evil.tokenAnswer = () => ({ status, body: { error: 'invalid_grant' } });
      expect(await failureOf(refresh())).toMatchObject({ code: 'grant_refused', providerError: 'invalid_grant' });
    }
    evil.tokenAnswer = () => ({ status: 400, body: { error: 'token_revoked' } });
    expect(await failureOf(refresh())).toMatchObject({ code: 'provider_error' });
    const refused = refresh({ tokenResponse: { refusedErrors: ['token_revoked'] } });
    expect(await failureOf(refused)).toMatchObject({ code: 'grant_refused', providerError: 'unregistered' });
  });

  it.each([
    [400, { message: 'Invalid refresh token' }, 'grant'],
    [400, [{ error: 'expired' }], 'grant'],
    [403, { error: { reason: 'revoked' } }, 'grant'],
    [200, { error: 'invalid_grant' }, 'grant'],
    [401, { errors: [{ errorType: 'invalid_grant' }] }, 'grant'],
    [401, { message: 'Unauthorized' }, 'unclear'],
    [401, undefined, 'unclear'],
    [401, { error: 'invalid_client' }, 'client'],
    [400, { errors: [{ errorType: 'Invalid Client', message: 'x' }] }, 'client'],
    [400, { error: 'unauthorized_client' }, 'client'],
    [200, { error: 'invalid_client' }, 'client'],
    [400, undefined, undefined],
    [400, '<html>invalid_grant</html>', undefined],
    [400, '{"error":"a","error":"b"}', undefined],
    [400, { error: 'temporarily_unavailable' }, undefined],
    [200, { errors: [{ type: 'internal_error' }], error: 'x' }, undefined],
    [200, { error: 'x', access_token: 'y' }, undefined],
    [200, {}, undefined],
  ] as const)('say what they refuse: %i %j %s', async (status, body, refuses) => {
    evil.tokenAnswer = () => ({ status, body: body ?? '' });
    const error = await failureOf(refresh(), ['canary-refresh-token']);
    expect(error.code).not.toBe('grant_refused');
    expect(error.refuses).toBe(refuses);
  });

  it('come from the refresh endpoint if one is configured', async () => {
    const grant = await refresh({ refresh: { endpoint: `${evil.issuer}/token/refresh` } }).catch(() => undefined);
    expect(grant).toBeUndefined();
    expect(evil.requests('token')).toHaveLength(0);
    expect(evil.requests('other').map(({ url }) => url.pathname)).toEqual(['/token/refresh']);
  });
});
