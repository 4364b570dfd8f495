import { driveAuthorization, type OddProvider, type OddStyleName, startOddProvider } from '@postern/testkit/providers';
import { afterAll, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { Provider } from './provider.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, held, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureOf } from './testing/failure-of.ts';

const { clientSecret } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());
const now = Date.now();

const start = (style: OddStyleName, accessTokenTtlSeconds?: number) =>
  startOddProvider({
    style,
    clientId: 'postern',
    clientSecret,
    redirectUris: [redirectUri.href],
    ...(accessTokenTtlSeconds !== undefined && { accessTokenTtlSeconds }),
  });

function providerAt({ endpoints }: OddProvider, changes: Partial<ProviderConfigInput>): Provider {
  const members = { authorizationEndpoint: endpoints.authorization, tokenEndpoint: endpoints.token, clientSecret };
  return providerFrom({ ...members, ...changes }, { fetch, now: () => now });
}

describe('a provider with form-encoded responses, errors with status 200 and comma-separated scopes (GitHub)', () => {
  const github = (odd: OddProvider, changes: Partial<ProviderConfigInput> = {}) =>
    providerAt(odd, {
      userinfoEndpoint: odd.endpoints.account,
      scopeImplies: { user: ['read:user'] },
      tokenResponse: { format: 'auto', refusedErrors: ['bad_refresh_token'] },
      account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
      revocation: {
        endpoint: odd.endpoints.revocation.replace('postern', '{clientId}'),
        style: 'custom',
        method: 'DELETE',
        body: 'json',
        parameter: 'access_token',
        token: 'access_token',
        reach: 'grant',
        unknownTokenStatuses: [404, 422],
      },
      ...changes,
    });

  it('yields a grant without expiry', async () => {
    await using odd = await start('github');
    const grant = await connect(github(odd), { scopes: ['repo', 'user'] });
    expect(grant).toEqual({
      accessToken: expect.stringMatching(/^gho_/),
      tokenType: 'bearer',
      clientId: 'postern',
      scopes: ['repo', 'user', 'read:user'],
      account: { id: '583231', name: 'octo' },
      issuer: undefined,
    });
  });

  it('reports an error with status 200, at the exchange and at a refresh', async () => {
    await using odd = await start('github');
    const wrong = connect(github(odd, { clientSecret: 'another secret' }));
    expect(await failureOf(wrong)).toMatchObject({ code: 'provider_error', providerError: 'unregistered' });
    odd.fault({ endpoint: 'token', status: 200, body: '{"error":"bad_refresh_token"}' });
    const refresh = github(odd).refresh({
      refreshToken: 'x',
      scopes: [],
      redirectUri,
      issuer: undefined,
      clientId: 'postern',
    });
    expect(await failureOf(refresh)).toMatchObject({ code: 'grant_refused' });
  });

  it('S24: revokes with a custom request, and a second revocation succeeds', async () => {
    await using odd = await start('github');
    const at = github(odd);
    const { accessToken } = await connect(at);
    expect([at.revocationReach, await at.isRevocable()]).toEqual(['grant', true]);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })).toBe('revoked');
    expect(odd.tokens.isLive(accessToken)).toBe(false);
    expect(odd.requests('revocation')).toMatchObject([
      {
        method: 'DELETE',
        body: JSON.stringify({ access_token: accessToken }),
        url: { pathname: '/applications/postern/grant' },
      },
    ]);
    expect(odd.requests('revocation')[0]?.headers['authorization']).toMatch(/^Basic /);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })).toBe('revoked');
  });

  it('S24: reports a failed revocation with a wrong secret', async () => {
    await using odd = await start('github');
    const { accessToken } = await connect(github(odd));
    const attempt = github(odd, { clientSecret: 'another secret' }).revoke({
      accessToken,
      redirectUri,
      issuer: undefined,
      clientId: 'postern',
    });
    expect(await failureOf(attempt, [accessToken])).toMatchObject({ code: 'invalid_revocation_response' });
    expect(odd.tokens.isLive(accessToken)).toBe(true);
  });
});

describe('a provider with the token in a nested object, and ok instead of a status (Slack)', () => {
  const answers = { tokenType: 'bearer', success: { member: 'ok', equals: true } } as const;
  const slack = (odd: OddProvider, changes: Partial<ProviderConfigInput> = {}) =>
    providerAt(odd, {
      clientAuthentication: 'client_secret_post',
      scopeParameter: 'user_scope',
      requestScopeSeparator: ',',
      tokenResponse: {
        ...answers,
        members: {
          accessToken: 'authed_user.access_token',
          expiresIn: 'authed_user.expires_in',
          refreshToken: 'authed_user.refresh_token',
          scope: 'authed_user.scope',
        },
      },
      refresh: { tokenResponse: { ...answers, refusedErrors: ['invalid_refresh_token'] } },
      account: { from: 'token_response', idClaim: 'authed_user.id', nameClaim: 'team.name' },
      revocation: {
        endpoint: odd.endpoints.revocation,
        style: 'custom',
        body: 'none',
        authentication: 'bearer',
        token: 'access_token',
        success: { member: 'ok', equals: true },
        unknownTokenErrors: ['token_revoked'],
      },
      ...changes,
    });

  it('yields a grant, and a refresh with other member names', async () => {
    await using odd = await start('slack', 43_200);
    const at = slack(odd);
    const grant = await connect(at, { scopes: ['chat:write', 'users:read'] });
    expect(odd.requests('authorization')[0]?.url.searchParams.get('user_scope')).toBe('chat:write,users:read');
    expect(grant).toMatchObject({
      tokenType: 'bearer',
      clientId: 'postern',
      scopes: ['chat:write', 'users:read'],
      expiresAt: now + 43_200_000,
      account: { id: 'U583231', name: 'Test Team' },
    });
    const refreshed = await at.refresh(held(grant));
    expect(odd.tokens.statusOf(refreshed.accessToken)).toBe('current');
    expect(refreshed).toMatchObject({ tokenType: 'bearer', scopes: ['chat:write', 'users:read'] });
    const again = at.refresh(held(grant));
    expect(await failureOf(again, [grant.refreshToken ?? ''])).toMatchObject({ code: 'grant_refused' });
  });

  it('reports ok: false as an error', async () => {
    await using odd = await start('slack');
    expect(await failureOf(connect(slack(odd, { clientSecret: 'another secret' })))).toMatchObject({
      code: 'provider_error',
      providerError: 'unregistered',
    });
  });

  it('receives no code challenge if it does not support PKCE', async () => {
    await using odd = await start('slack');
    const grant = await connect(slack(odd, { pkce: 'unsupported' }));
    expect(grant.accessToken).toMatch(/^xoxp-/);
    expect([...(odd.requests('authorization')[0]?.url.searchParams.keys() ?? [])].join()).not.toContain('challenge');
    expect(odd.requests('token')[0]?.form).not.toHaveProperty('code_verifier');
  });

  it('S24: revokes with the access token as bearer, and a second revocation succeeds', async () => {
    await using odd = await start('slack');
    const at = slack(odd);
    const { accessToken } = await connect(at);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })).toBe('revoked');
    expect(odd.tokens.isLive(accessToken)).toBe(false);
    expect(await at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })).toBe('revoked');
    odd.fault({ endpoint: 'revocation', times: 1, status: 200, body: '{"ok":false,"error":"fatal_error"}' });
    expect(
      await failureOf(at.revoke({ accessToken, redirectUri, issuer: undefined, clientId: 'postern' })),
    ).toMatchObject({
      code: 'provider_error',
    });
  });
});

describe('a provider that does not report the lifetime of its tokens (Salesforce)', () => {
  it('yields tokens with the configured lifetime', async () => {
    await using odd = await start('salesforce');
    const at = providerAt(odd, { tokenResponse: { lifetimeSeconds: 7200 } });
    const grant = await connect(at, { scopes: ['api', 'refresh_token'] });
    expect(grant.expiresAt).toBe(now + 7_200_000);
    expect(await at.refresh(held(grant))).toMatchObject({ expiresAt: now + 7_200_000 });
    expect(await providerAt(odd, {}).refresh(held(grant))).not.toHaveProperty('expiresAt');
  });
});
