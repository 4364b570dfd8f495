import { describe, expect, it } from 'vitest';
import { driveAuthorization } from './drive-authorization.ts';
import { askApi, codeChallenge, codeVerifier, post, redirectUri } from './flow.test-support.ts';
import { type OddProvider, type OddProviderOptions, startOddProvider } from './odd-provider.ts';

const secret = { client_id: 'an app', client_secret: 'the secret' };
const basic = { authorization: `Basic ${btoa('an+app:the+secret')}` };

function start(options: Pick<OddProviderOptions, 'style'> & Partial<OddProviderOptions>): Promise<OddProvider> {
  return startOddProvider({ clientId: 'an app', clientSecret: 'the secret', redirectUris: [redirectUri], ...options });
}

function authorize(odd: OddProvider, parameters: Record<string, string>): Promise<URL> {
  const url = new URL(odd.endpoints.authorization);
  const pkce = { code_challenge: codeChallenge, code_challenge_method: 'S256' };
  const query = { client_id: 'an app', redirect_uri: redirectUri, state: 'the state', ...pkce, ...parameters };
  url.search = new URLSearchParams(query).toString();
  return driveAuthorization(url, 'octo');
}

async function send(url: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form), headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

const codeForm = (callback: URL, changes = {}) => ({
  ...secret,
  code: callback.searchParams.get('code') ?? '',
  redirect_uri: redirectUri,
  code_verifier: codeVerifier,
  ...changes,
});

describe('a provider like GitHub', () => {
  const parse = ({ text }: { text: string }) => Object.fromEntries(new URLSearchParams(text));

  it('responds with forms, comma-separated scopes and no lifetime', async () => {
    await using odd = await start({ style: 'github' });
    odd.grantScopes = requested => requested.filter(scope => scope !== 'read:user');
    const callback = await authorize(odd, { scope: 'repo gist read:user' });
    expect(callback.searchParams.get('state')).toBe('the state');
    const answer = await send(odd.endpoints.token, codeForm(callback), { accept: 'application/json' });
    expect([answer.status, answer.type]).toEqual([200, 'application/x-www-form-urlencoded; charset=utf-8']);
    const accessToken = parse(answer)['access_token'] ?? '';
    expect(parse(answer)).toEqual({ access_token: accessToken, scope: 'repo,gist', token_type: 'bearer' });
    const account = await fetch(odd.endpoints.account, { headers: { authorization: `Bearer ${accessToken}` } });
    expect(await account.json()).toEqual({ id: 583231, login: 'octo', name: 'Octo Example' });
    expect((await askApi({ issuer: odd.origin }, accessToken)).body).toMatchObject({ scopes: ['repo', 'gist'] });
  });

  it('reports errors with status 200', async () => {
    await using odd = await start({ style: 'github' });
    const fail = async (changes: Record<string, string>) => {
      const callback = await authorize(odd, { scope: 'repo' });
      const answer = await send(odd.endpoints.token, codeForm(callback, changes));
      return [answer.status, parse(answer)['error']];
    };
    expect(await fail({ code: 'guess' })).toEqual([200, 'bad_verification_code']);
    expect(await fail({ code_verifier: 'guess' })).toEqual([200, 'bad_verification_code']);
    expect(await fail({ client_secret: 'guess' })).toEqual([200, 'incorrect_client_credentials']);
    expect(await fail({ redirect_uri: 'http://127.0.0.1:3/other' })).toEqual([200, 'redirect_uri_mismatch']);
    expect(await fail({ grant_type: 'refresh_token', refresh_token: 'x' })).toEqual([200, 'unsupported_grant_type']);

    const callback = await authorize(odd, { scope: 'repo' });
    expect(parse(await send(odd.endpoints.token, codeForm(callback)))).toHaveProperty('access_token');
    expect(parse(await send(odd.endpoints.token, codeForm(callback)))['error']).toBe('bad_verification_code');
  });

  it('lets the client revoke all grants with its secret and JSON', async () => {
    await using odd = await start({ style: 'github' });
    const connect = async () =>
      parse(await send(odd.endpoints.token, codeForm(await authorize(odd, { scope: 'repo' }))))['access_token'];
    const [first, second] = [await connect(), await connect()];
    const revoke = (access_token: unknown, headers: Record<string, string> = basic) =>
      fetch(odd.endpoints.revocation, { method: 'DELETE', headers, body: JSON.stringify({ access_token }) });
    expect((await revoke(first, {})).status).toBe(401);
    expect((await revoke(first)).status).toBe(204);
    for (const accessToken of [first, second]) expect(odd.tokens.statusOf(String(accessToken))).toBe('revoked');
    expect((await revoke(first)).status).toBe(422);
    expect(odd.requests('revocation').map(({ status }) => status)).toEqual([401, 204, 422]);
  });

  it('redirects only to registered URIs, and reports a refusal of the user', async () => {
    await using odd = await start({ style: 'github' });
    await expect(authorize(odd, { redirect_uri: 'http://127.0.0.1:4/elsewhere' })).rejects.toThrow(Error);
    odd.decision = 'deny';
    const callback = await authorize(odd, { scope: 'repo' });
    expect(Object.fromEntries(callback.searchParams)).toEqual({ state: 'the state', error: 'access_denied' });
  });
});

describe('a provider like Slack', () => {
  it('nests the user token, separates with commas, and reports failure with ok', async () => {
    await using odd = await start({ style: 'slack' });
    const callback = await authorize(odd, { user_scope: 'chat:write,users:read' });
    const { status, body } = await post(odd.endpoints.token, codeForm(callback));
    expect([status, body['ok'], 'access_token' in body]).toEqual([200, true, false]);
    const user = body['authed_user'] as Record<string, unknown>;
    expect(user).toMatchObject({ id: 'U583231', scope: 'chat:write,users:read', token_type: 'user' });
    expect(user).not.toHaveProperty('refresh_token');
    expect(await post(odd.endpoints.token, codeForm(callback))).toMatchObject({
      status: 200,
      body: { ok: false, error: 'invalid_code' },
    });
    const authorization = { authorization: `Bearer ${user['access_token']}` };
    expect((await post(odd.endpoints.account, {}, authorization)).body).toMatchObject({ user_id: 'U583231' });
    expect((await post(odd.endpoints.revocation, {}, authorization)).body).toEqual({ ok: true, revoked: true });
    expect((await post(odd.endpoints.revocation, {}, authorization)).body).toMatchObject({ error: 'token_revoked' });
    expect((await post(odd.endpoints.account, {}, authorization)).body).toMatchObject({ ok: false });
  });

  it('rotates refresh tokens if tokens expire, and returns refreshed tokens outside authed_user', async () => {
    await using odd = await start({ style: 'slack', accessTokenTtlSeconds: 43_200 });
    const callback = await authorize(odd, { user_scope: 'chat:write' });
    const { body } = await post(odd.endpoints.token, codeForm(callback));
    const user = body['authed_user'] as Record<string, unknown>;
    expect(user['expires_in']).toBe(43_200);
    const refresh = (refreshToken: unknown) =>
      post(odd.endpoints.token, { ...secret, grant_type: 'refresh_token', refresh_token: String(refreshToken) });
    const second = await refresh(user['refresh_token']);
    expect(second.body).toMatchObject({ ok: true, token_type: 'user', scope: 'chat:write', expires_in: 43_200 });
    expect(await refresh(user['refresh_token'])).toMatchObject({
      status: 200,
      body: { ok: false, error: 'invalid_refresh_token' },
    });
    odd.nestedRefresh = true;
    const third = await refresh(second.body['refresh_token']);
    expect(third.body).toMatchObject({ ok: true, authed_user: { scope: 'chat:write' } });
    expect(odd.tokens.grants()).toMatchObject([{ rotations: 2, reuses: 1, status: 'live' }]);
  });
});

describe('a provider like Salesforce', () => {
  it('omits the lifetime, and keeps the refresh token', async () => {
    await using odd = await start({ style: 'salesforce' });
    const callback = await authorize(odd, { scope: 'api refresh_token' });
    const form = { ...codeForm(callback), grant_type: 'authorization_code' };
    const { body } = await post(odd.endpoints.token, form);
    expect(body).not.toHaveProperty('expires_in');
    const refresh = () =>
      post(odd.endpoints.token, {
        ...secret,
        grant_type: 'refresh_token',
        refresh_token: String(body['refresh_token']),
      });
    odd.endAccessToken(String(body['access_token']));
    expect((await askApi({ issuer: odd.origin }, body['access_token'])).status).toBe(401);
    const second = await refresh();
    expect(second.body).not.toHaveProperty('refresh_token');
    expect(odd.tokens.isLive(String(second.body['access_token']))).toBe(true);

    odd.fault({ endpoint: 'token', grantType: 'refresh_token', status: 503, when: 'after', times: 1 });
    expect((await fetch(odd.endpoints.token, { method: 'POST', body: new URLSearchParams({ x: '' }) })).status).toBe(
      400,
    );
    expect((await refresh()).status).toBe(503);
    expect(odd.tokens.grants()).toMatchObject([
      {
        refreshes: [
          { generation: 1, answer: 'sent' },
          { generation: 2, answer: 'lost' },
        ],
      },
    ]);

    expect((await send(odd.endpoints.revocation, { token: String(body['refresh_token']) })).status).toBe(200);
    expect(await refresh()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });
});
