import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { createCookieJar } from './cookie-jar.ts';
import { driveAuthorization } from './drive-authorization.ts';
import { startOpenIdProvider, type TestProvider } from './open-id-provider.ts';
import type { OpenIdProviderOptions } from './open-id-provider-options.ts';

const redirectUri = 'http://127.0.0.1:3/callback';
const resource = 'https://mcp.example/issues';
// RFC 7636 appendix B.
const codeVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

function start(options: Partial<OpenIdProviderOptions> = {}): Promise<TestProvider> {
  return startOpenIdProvider({
    clients: [{ clientId: 'mcp-client', redirectUris: [redirectUri], defaultResource: resource }],
    scopes: ['issues'],
    accessTokenFormat: 'jwt',
    ...options,
  });
}

function authorizeUrl(op: TestProvider, parameters: Record<string, string> = {}): URL {
  const url = new URL('/auth', op.issuer);
  url.search = new URLSearchParams({
    client_id: 'mcp-client',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'issues',
    state: 'state',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...parameters,
  }).toString();
  return url;
}

async function token(op: TestProvider, parameters: Record<string, string>) {
  const body = new URLSearchParams({ client_id: 'mcp-client', ...parameters });
  const response = await fetch(new URL('/token', op.issuer), { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const exchange = (op: TestProvider, callback: URL) =>
  token(op, {
    grant_type: 'authorization_code',
    code: callback.searchParams.get('code') ?? '',
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
  });

describe('startOpenIdProvider', () => {
  it('issues JWT access tokens for the resource of the client, and rotates refresh tokens', async () => {
    await using op = await start();
    const first = await exchange(op, await driveAuthorization(authorizeUrl(op), 'alice'));
    const keys = createRemoteJWKSet(new URL('/jwks', op.issuer));
    const { payload, protectedHeader } = await jwtVerify(String(first.body['access_token']), keys);
    expect(protectedHeader.typ).toBe('at+jwt');
    expect(payload).toMatchObject({ iss: op.issuer, aud: resource, sub: 'alice', scope: 'issues', oid: 'oid-alice' });

    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) };
    const second = await token(op, refresh);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first.body['refresh_token']);
    const replayed = await token(op, refresh);
    expect(replayed).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const kinds = op.issued.map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual([
      'AccessToken',
      'AccessToken',
      'AuthorizationCode',
      'RefreshToken',
      'RefreshToken',
    ]);
  });

  it('signs in once per browser, and again, as another user, with prompt=login', async () => {
    await using op = await start({ consent: 'skip' });
    const jar = createCookieJar();
    await driveAuthorization(authorizeUrl(op), 'alice', { jar });
    op.clearRequests();
    await driveAuthorization(authorizeUrl(op), 'unused', { jar });
    expect(op.requests('interaction')).toHaveLength(0);
    await exchange(op, await driveAuthorization(authorizeUrl(op, { prompt: 'login' }), 'bob', { jar }));
    expect(op.issued.at(-1)).toMatchObject({ accountId: 'bob', clientId: 'mcp-client', scopes: ['issues'] });
  });

  it('returns access_denied if the user refuses', async () => {
    await using op = await start();
    const callback = await driveAuthorization(authorizeUrl(op), 'alice', { decision: 'deny' });
    expect(callback.searchParams.get('error')).toBe('access_denied');
    expect(callback.searchParams.get('iss')).toBe(op.issuer);
    expect(op.issued).toEqual([]);
  });

  it('the sign-in page has the selectors that browser tests use', async () => {
    await using op = await start();
    const { url, headers } = await fetch(authorizeUrl(op), { redirect: 'manual' }).then(response => ({
      url: new URL(response.headers.get('location') ?? '', op.issuer),
      headers: {
        cookie: response.headers
          .getSetCookie()
          .map(line => line.split(';')[0])
          .join('; '),
      },
    }));
    const login = await (await fetch(url, { headers })).text();
    expect(login).toContain('name="user" value="alice"');
    expect(login).toContain('id="deny"');
  });

  it('injects each fault the configured number of times, and records all requests', async () => {
    await using op = await start();
    op.fault({ endpoint: 'token', status: 503, headers: { 'retry-after': '1' }, times: 1 });
    op.fault({ endpoint: 'token', drop: 'after', times: 1 });
    const post = () => fetch(new URL('/token', op.issuer), { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
    const refused = await post();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    await expect(post()).rejects.toThrow(TypeError);
    expect((await post()).status).toBe(400);
    expect(op.requests('token').map(({ status }) => status)).toEqual([503, 400, 400]);
    expect(op.requests('token').at(-1)?.form).toEqual({ a: 'b' });
    expect(op.requests('userinfo')).toEqual([]);
  });
});
