import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { driveAuthorization } from './drive-authorization.ts';
import {
  askApi,
  authorizationParameters,
  authorizeUrl,
  connect,
  dpopProof,
  exchange,
  post,
  redirectUri,
  refresh,
  startProvider,
} from './flow.test-support.ts';
import { tokenDigest } from './token-ledger.ts';

const metadataOf = async (op: { issuer: string }) =>
  (await (await fetch(new URL('/.well-known/oauth-authorization-server', op.issuer))).json()) as Record<
    string,
    unknown
  >;

describe('pushed authorization requests', () => {
  it('pushed authorization requests are off, offered or required', async () => {
    await using off = await startProvider();
    expect(await metadataOf(off)).not.toHaveProperty('pushed_authorization_request_endpoint');

    await using op = await startProvider({ pushedAuthorization: 'required' });
    expect(await metadataOf(op)).toMatchObject({
      pushed_authorization_request_endpoint: `${op.issuer}/request`,
      require_pushed_authorization_requests: true,
    });
    const refused = await driveAuthorization(authorizeUrl(op), 'alice');
    expect(refused.searchParams.get('error')).toBe('invalid_request');
    const pushed = await post(`${op.issuer}/request`, authorizationParameters);
    expect(pushed.status).toBe(201);
    const url = new URL('/auth', op.issuer);
    url.search = new URLSearchParams({
      client_id: 'mcp-client',
      request_uri: String(pushed.body['request_uri']),
    }).toString();
    expect((await exchange(op, await driveAuthorization(url, 'alice'))).status).toBe(200);

    await using offered = await startProvider({ pushedAuthorization: 'offered' });
    expect(await metadataOf(offered)).not.toHaveProperty('require_pushed_authorization_requests');
    expect((await connect(offered)).body).toHaveProperty('access_token');
  });
});

describe('DPoP', () => {
  it('DPoP is unknown unless offered', async () => {
    await using op = await startProvider();
    expect(await metadataOf(op)).not.toHaveProperty('dpop_signing_alg_values_supported');
  });

  it('DPoP binds access tokens to the key, at the token endpoint and at the API', async () => {
    const clients = [{ clientId: 'mcp-client', redirectUris: [redirectUri], dpopBound: true }];
    await using op = await startProvider({ dpop: 'offered', clients });
    const keys = await generateKeyPair('ES256');
    const url = `${op.issuer}/token`;
    const proof = async () => ({ dpop: await dpopProof(keys, { method: 'POST', url }) });
    const callback = await driveAuthorization(authorizeUrl(op), 'alice');
    expect((await exchange(op, callback)).status).toBe(400);
    const { status, body, headers } = await exchange(op, callback, {}, await proof());
    expect([status, body['token_type'], headers.has('dpop-nonce')]).toEqual([200, 'DPoP', false]);

    const accessToken = String(body['access_token']);
    const api = { method: 'GET', url: `${op.issuer}/api/me`, accessToken };
    const authorization = `DPoP ${accessToken}`;
    const used = await dpopProof(keys, api);
    expect((await askApi(op, accessToken, { authorization, dpop: used })).status).toBe(200);
    const refused: Record<string, string>[] = [
      { authorization, dpop: used },
      { authorization },
      { dpop: await dpopProof(keys, api) },
      { authorization, dpop: await dpopProof(keys, { ...api, accessToken: 'another' }) },
      { authorization, dpop: await dpopProof(keys, { ...api, method: 'POST' }) },
      { authorization, dpop: await dpopProof(await generateKeyPair('ES256'), api) },
    ];
    for (const headers of refused) expect((await askApi(op, accessToken, headers)).status).toBe(401);

    // The refresh token of a public client is bound as well (RFC 9449 section 5).
    const stranger = { dpop: await dpopProof(await generateKeyPair('ES256'), { method: 'POST', url }) };
    expect((await refresh(op, body['refresh_token'], {}, stranger)).status).toBe(400);
    expect((await refresh(op, body['refresh_token'], {}, await proof())).status).toBe(200);
  });

  it('DPoP can require a nonce, and later a new one', async () => {
    const clients = [{ clientId: 'mcp-client', redirectUris: [redirectUri], dpopBound: true }];
    await using op = await startProvider({ dpop: 'offered', dpopNonce: true, clients });
    const keys = await generateKeyPair('ES256');
    const url = `${op.issuer}/token`;
    const callback = await driveAuthorization(authorizeUrl(op), 'alice');
    const ask = async (nonce?: string | null) =>
      exchange(op, callback, {}, { dpop: await dpopProof(keys, { method: 'POST', url, ...(nonce && { nonce }) }) });
    const challenge = await ask();
    expect(challenge).toMatchObject({ status: 400, body: { error: 'use_dpop_nonce' } });
    expect((await ask('made up')).body).toMatchObject({ error: 'use_dpop_nonce' });
    const { status, body } = await ask(challenge.headers.get('dpop-nonce'));
    expect(status).toBe(200);

    const accessToken = String(body['access_token']);
    const api = { method: 'GET', url: `${op.issuer}/api/me`, accessToken };
    const authorization = `DPoP ${accessToken}`;
    const first = await askApi(op, accessToken, { authorization, dpop: await dpopProof(keys, api) });
    expect(first).toMatchObject({ status: 401, body: { error: 'use_dpop_nonce' } });
    const dpop = await dpopProof(keys, { ...api, nonce: first.headers.get('dpop-nonce') });
    expect((await askApi(op, accessToken, { authorization, dpop })).status).toBe(200);
    op.switches.dpopNonce = false;
    expect((await askApi(op, accessToken, { authorization, dpop: await dpopProof(keys, api) })).status).toBe(200);
  });
});

describe('client authentication', () => {
  it('private_key_jwt: assertions are logged, and their audience can be restricted to the issuer', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'client-key', alg: 'ES256', use: 'sig' }] };
    await using op = await startProvider({
      clients: [{ clientId: 'mcp-client', redirectUris: [redirectUri], jwks }],
    });
    const assert = async (aud: string | string[], jti: string) => ({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await new SignJWT({ jti })
        .setProtectedHeader({ alg: 'ES256', kid: 'client-key' })
        .setIssuer('mcp-client')
        .setSubject('mcp-client')
        .setAudience(aud)
        .setIssuedAt()
        .setExpirationTime('60s')
        .sign(privateKey),
    });
    const callback = await driveAuthorization(authorizeUrl(op), 'alice');
    expect((await exchange(op, callback)).status).toBe(401);
    const { body } = await exchange(op, callback, await assert(`${op.issuer}/token`, 'one'));
    op.switches.assertionAudience = 'issuer';
    const audiences = [`${op.issuer}/token`, [op.issuer], op.issuer];
    const statuses: number[] = [];
    for (const [index, aud] of audiences.entries()) {
      const answer = await refresh(op, body['refresh_token'], await assert(aud, `refresh-${index}`));
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([401, 401, 200]);
    expect(op.assertions()).toMatchObject([
      { endpoint: 'token', aud: `${op.issuer}/token`, iss: 'mcp-client', kid: 'client-key', status: 200 },
      { aud: `${op.issuer}/token`, status: 401 },
      { aud: [op.issuer], status: 401 },
      { aud: op.issuer, sub: 'mcp-client', alg: 'ES256', jti: 'refresh-2', lifetimeSeconds: 60, status: 200 },
    ]);
  });

  it('accepts only the registered method: basic, post or none', async () => {
    const clientSecret = 'a secret of the client';
    const basic = { authorization: `Basic ${btoa(`mcp-client:${encodeURIComponent(clientSecret)}`)}` };
    for (const [authentication, accepted] of [
      ['client_secret_basic', 'basic'],
      ['client_secret_post', 'post'],
    ] as const) {
      const clients = [{ clientId: 'mcp-client', clientSecret, authentication, redirectUris: [redirectUri] }];
      await using op = await startProvider({ clients });
      const callback = await driveAuthorization(authorizeUrl(op), 'alice');
      expect((await exchange(op, callback)).status).toBe(401);
      expect((await exchange(op, callback, { client_secret: 'wrong' })).status).toBe(401);
      const answer =
        accepted === 'post'
          ? await exchange(op, callback, { client_secret: clientSecret })
          : await exchange(op, callback, {}, basic);
      expect(answer.status).toBe(200);
    }
  });

  it('detects secrets in queries', async () => {
    const clients = [{ clientId: 'mcp-client', clientSecret: 'a secret', redirectUris: [redirectUri] }];
    await using op = await startProvider({ clients: [...clients, { clientId: 'other', redirectUris: [redirectUri] }] });
    const callback = await driveAuthorization(authorizeUrl(op, { client_id: 'other' }), 'alice');
    const { body } = await exchange(op, callback, { client_id: 'other' });
    expect(op.secretsInQueries()).toEqual([]);
    await fetch(`${op.issuer}/api/me?x=${body['access_token']}`);
    await fetch(`${op.issuer}/token?client_secret=guess`, { method: 'POST' });
    await fetch(`${op.issuer}/jwks?y=a+secret`);
    expect(op.secretsInQueries()).toEqual([
      { endpoint: 'api', parameter: 'x' },
      { endpoint: 'token', parameter: 'client_secret' },
      { endpoint: 'jwks', parameter: 'y' },
    ]);
  });
});

describe('revocation', () => {
  it('a revocation is logged with its parameters, and ends the tokens', async () => {
    await using op = await startProvider();
    const { accessToken, refreshToken } = await connect(op);
    const grantId = op.tokens.grantOf(refreshToken)?.grantId;
    const revoke = (token: string, hint?: string) =>
      post(`${op.issuer}/token/revocation`, { client_id: 'mcp-client', token, ...(hint && { token_type_hint: hint }) });
    expect((await revoke(refreshToken, 'refresh_token')).status).toBe(200);
    expect((await revoke('no such token')).status).toBe(200);
    expect(op.revocations()).toEqual([
      {
        clientId: 'mcp-client',
        kind: 'refresh_token',
        digest: tokenDigest(refreshToken),
        hint: 'refresh_token',
        grantId,
        status: 200,
      },
      {
        clientId: 'mcp-client',
        kind: 'unknown',
        digest: tokenDigest('no such token'),
        hint: undefined,
        grantId: undefined,
        status: 200,
      },
    ]);
    expect(op.tokens.grants()).toMatchObject([{ status: 'revoked' }]);
    expect((await askApi(op, accessToken)).status).toBe(401);
    expect((await refresh(op, refreshToken)).status).toBe(400);

    const second = await connect(op);
    await revoke(second.accessToken);
    expect((await askApi(op, second.accessToken)).status).toBe(401);
  });

  it('revocation can be disabled', async () => {
    await using op = await startProvider({ revocation: 'off' });
    expect(await metadataOf(op)).not.toHaveProperty('revocation_endpoint');
    expect((await fetch(`${op.issuer}/token/revocation`, { method: 'POST' })).status).toBe(404);
  });
});
