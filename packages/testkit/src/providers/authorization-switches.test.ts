import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { createCookieJar } from './cookie-jar.ts';
import { driveAuthorization } from './drive-authorization.ts';
import { driveDevice } from './drive-device.ts';
import {
  askApi,
  authorizeUrl,
  connect,
  exchange,
  post,
  redirectUri,
  resource,
  startProvider,
  token,
} from './flow.test-support.ts';

const metadataOf = async (op: { issuer: string }) =>
  (await (await fetch(new URL('/.well-known/openid-configuration', op.issuer))).json()) as Record<string, unknown>;

describe('iss in authorization responses (RFC 9207)', () => {
  it('iss is both sent and advertised, or neither', async () => {
    await using op = await startProvider();
    const advertised = 'authorization_response_iss_parameter_supported';
    expect((await metadataOf(op))[advertised]).toBe(true);
    expect((await driveAuthorization(authorizeUrl(op), 'alice')).searchParams.get('iss')).toBe(op.issuer);
    op.switches.issParameter = false;
    expect(await metadataOf(op)).not.toHaveProperty(advertised);
    const callback = await driveAuthorization(authorizeUrl(op), 'alice');
    expect([...callback.searchParams.keys()].toSorted()).toEqual(['code', 'state']);
    expect((await exchange(op, callback)).status).toBe(200);
    const denied = await driveAuthorization(authorizeUrl(op), 'alice', { decision: 'deny' });
    expect(denied.searchParams.get('error')).toBe('access_denied');
    expect(denied.searchParams.has('iss')).toBe(false);
  });
});

describe('scopes and resources', () => {
  it('the user may untick scopes, and the response names the granted ones', async () => {
    await using op = await startProvider();
    const { body, accessToken } = await connect(
      op,
      { scope: 'openid issues issues.write' },
      { grantScopes: ['openid', 'issues'] },
    );
    expect(body['scope']).toBe('openid issues');
    expect((await askApi(op, accessToken)).body).toMatchObject({ scopes: ['openid', 'issues'] });
  });

  it('tokens for a resource are JWTs or opaque', async () => {
    await using op = await startProvider({ accessTokenFormat: 'jwt' });
    const jwt = await connect(op, { resource, scope: 'issues' });
    expect(decodeJwt(jwt.accessToken).aud).toBe(resource);
    op.switches.accessTokenFormat = 'opaque';
    const opaque = await connect(op, { resource, scope: 'issues' });
    expect(opaque.accessToken).not.toContain('.');
    for (const { accessToken } of [jwt, opaque]) {
      expect((await askApi(op, accessToken)).body).toMatchObject({ audience: [resource], scopes: ['issues'] });
    }
  });
});

describe('device flow (RFC 8628)', () => {
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const start = async (op: { issuer: string }) => {
    const { status, body } = await post(`${op.issuer}/device/auth`, { client_id: 'mcp-client', scope: 'issues' });
    expect(status).toBe(200);
    return {
      deviceCode: String(body['device_code']),
      userCode: String(body['user_code']),
      verificationUri: String(body['verification_uri']),
      complete: String(body['verification_uri_complete']),
    };
  };
  const device = { clients: [{ clientId: 'mcp-client', redirectUris: [] }], deviceFlow: true };

  it('the device flow is off by default', async () => {
    await using op = await startProvider();
    expect(await metadataOf(op)).not.toHaveProperty('device_authorization_endpoint');
  });

  it('waits for the user, who types the code and approves', async () => {
    await using op = await startProvider(device);
    expect(await metadataOf(op)).toHaveProperty('device_authorization_endpoint', `${op.issuer}/device/auth`);
    const { deviceCode, userCode, verificationUri } = await start(op);
    const poll = () => token(op, { grant_type, device_code: deviceCode });
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' });
    expect(await driveDevice({ verificationUri, userCode: 'WRONGONE' }, 'alice')).toBe('refused');
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' });
    const jar = createCookieJar();
    expect(await driveDevice({ verificationUri, userCode }, 'bob', { jar })).toBe('approved');
    const { status, body } = await poll();
    expect(status).toBe(200);
    expect((await askApi(op, body['access_token'])).body).toMatchObject({ account: 'bob', scopes: ['issues'] });
    expect(op.tokens.grants()).toMatchObject([{ accountId: 'bob', exchanges: [{ grantType: grant_type }] }]);
    expect(await driveDevice({ verificationUri, userCode }, 'bob', { jar })).toBe('refused');
    expect((await poll()).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('reports a refusal on the code page or on the consent page', async () => {
    await using op = await startProvider(device);
    for (const denyAt of ['code', 'consent'] as const) {
      const { deviceCode, complete } = await start(op);
      expect(await driveDevice({ verificationUri: complete }, 'alice', { decision: 'deny', denyAt })).toBe('denied');
      expect(await token(op, { grant_type, device_code: deviceCode })).toMatchObject({
        status: 400,
        body: { error: 'access_denied' },
      });
    }
  });

  it('answers slow_down if configured', async () => {
    await using op = await startProvider(device);
    const { deviceCode } = await start(op);
    op.fault({
      endpoint: 'token',
      grantType: grant_type,
      times: 1,
      status: 400,
      body: '{"error":"slow_down"}',
      headers: { 'content-type': 'application/json' },
    });
    const poll = () => token(op, { grant_type, device_code: deviceCode });
    expect((await poll()).body).toEqual({ error: 'slow_down' });
    expect((await poll()).body).toMatchObject({ error: 'authorization_pending' });
  });
});

describe('self-registered clients', () => {
  const register = async (op: { issuer: string }, headers: Record<string, string> = {}) => {
    const response = await fetch(`${op.issuer}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  it('clients register (RFC 7591), and read, change and delete their registration (RFC 7592)', async () => {
    await using op = await startProvider({ registration: 'open' });
    expect(await metadataOf(op)).toHaveProperty('registration_endpoint', `${op.issuer}/reg`);
    const { status, body } = await register(op);
    expect(status).toBe(201);
    const clientId = String(body['client_id']);
    const callback = await driveAuthorization(authorizeUrl(op, { client_id: clientId }), 'alice');
    expect((await exchange(op, callback, { client_id: clientId })).status).toBe(200);
    const manage = (method: string) =>
      fetch(String(body['registration_client_uri']), {
        method,
        headers: { authorization: `Bearer ${body['registration_access_token']}` },
      });
    expect((await manage('GET')).status).toBe(200);
    expect((await manage('DELETE')).status).toBe(204);
    expect((await manage('GET')).status).toBe(401);
    expect(op.requests('registration')[0]?.body).toContain(redirectUri);
  });

  it('clients register only with an initial access token, or not at all', async () => {
    await using op = await startProvider({ registration: { initialAccessToken: 'from-the-operator' } });
    expect((await register(op, { authorization: 'Bearer guess' })).status).toBe(401);
    expect((await register(op)).status).toBe(401);
    expect((await register(op, { authorization: 'Bearer from-the-operator' })).status).toBe(201);
    await using closed = await startProvider();
    expect((await fetch(`${closed.issuer}/reg`, { method: 'POST' })).status).toBe(404);
  });

  it('clients identify themselves by a Client ID Metadata Document', async () => {
    const clientId = 'https://client.example/oauth/metadata.json';
    const fetched: string[] = [];
    await using op = await startProvider({
      clientIdMetadataDocuments: async url => {
        fetched.push(url.href);
        return Response.json({
          client_id: clientId,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
        });
      },
    });
    expect((await metadataOf(op))['client_id_metadata_document_supported']).toBe(true);
    const callback = await driveAuthorization(authorizeUrl(op, { client_id: clientId }), 'alice');
    const { body } = await exchange(op, callback, { client_id: clientId });
    expect(op.tokens.grantOf(String(body['refresh_token']))).toMatchObject({ clientId });
    expect(fetched).toEqual([clientId]);
    await expect(
      driveAuthorization(authorizeUrl(op, { client_id: 'https://client.example/other.json' }), 'alice'),
    ).rejects.toThrow(Error);
  });
});
