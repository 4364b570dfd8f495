import {
  driveDevice,
  type EvilAnswer,
  type EvilProvider,
  type HttpListener,
  hostileDeviceAnswers,
  listenHttp,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClientRegistration } from './client-authentication.ts';
import type { ResolvedClient } from './client-registration.ts';
import { pollDevice, startDevice } from './device-flow.ts';
import { dpopProof, newDpopKey } from './dpop.ts';
import { createOauthClient } from './oauth-client.ts';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { createMetadataCache } from './server-metadata.ts';
import { providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf, failureOf } from './testing/failure-of.ts';
import { recorder, withoutNetwork } from './testing/outbound-fetch-fixture.ts';

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());
const oauthClient = createOauthClient({ fetch, now: Date.now });

describe('a device flow at a real provider', () => {
  let provider: TestProvider;
  let metadata: ResolvedClient['metadata'];
  let keys: { readonly jwk: ClientRegistration['clientKey']; readonly publicJwk: object };

  beforeAll(async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const publicJwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'our-key' };
    keys = { jwk: { jwk: await exportJWK(privateKey), algorithm: 'ES256', kid: 'our-key' }, publicJwk };
    provider = await startOpenIdProvider({
      deviceFlow: true,
      dpop: 'offered',
      dpopNonce: true,
      assertionAudience: 'issuer',
      scopes: ['repo', 'gist'],
      clients: [
        { clientId: 'public', redirectUris: [] },
        { clientId: 'secret', clientSecret: canaries.clientSecret, redirectUris: [] },
        { clientId: 'key', jwks: { keys: [publicJwk] }, redirectUris: [] },
        { clientId: 'other', redirectUris: [] },
      ],
    });
    metadata = await createMetadataCache({ fetch, now: Date.now }).get({ issuer: provider.issuer, discovery: 'oidc' });
  });
  afterAll(() => provider.close());

  const at = (registration: ClientRegistration): ResolvedClient => ({ registration, metadata });
  const scope = { scope: 'openid repo' };

  it.each(['public', 'secret', 'key'])(
    'polling is pending until the user agrees, then grants once (%s client)',
    async clientId => {
      const registered = at({
        clientId,
        ...(clientId === 'secret' && { clientSecret: canaries.clientSecret }),
        ...(clientId === 'key' && { clientKey: keys.jwk, clientAuthentication: 'private_key_jwt' }),
      });
      const device = await startDevice(oauthClient, registered, scope);
      expect(device).toMatchObject({ expiresInMs: 600_000, intervalMs: 5000 });
      expect(new URL(device.verificationUri).origin).toBe(provider.origin);

      expect(await pollDevice(oauthClient, registered, device)).toEqual({ result: 'pending' });
      expect(await driveDevice(device, 'alice')).toBe('approved');
      const polled = await pollDevice(oauthClient, registered, device);
      expect(polled).toMatchObject({
        result: 'granted',
        grant: { response: { token_type: 'bearer', scope: 'openid repo' }, claims: { sub: 'alice' } },
      });
      // The code works once, and no error contains it.
      expect(await failureOf(pollDevice(oauthClient, registered, device), [device.deviceCode])).toMatchObject({
        code: 'provider_error',
        providerError: 'invalid_grant',
      });
    },
  );

  it('with the complete URI, the user types no code', async () => {
    const registered = at({ clientId: 'public' });
    const { deviceCode, verificationUriComplete = '' } = await startDevice(oauthClient, registered, scope);
    expect(await driveDevice({ verificationUri: verificationUriComplete }, 'alice')).toBe('approved');
    expect(await pollDevice(oauthClient, registered, { deviceCode })).toMatchObject({ result: 'granted' });
  });

  it('polling returns denied after the user has denied', async () => {
    const registered = at({ clientId: 'public' });
    const device = await startDevice(oauthClient, registered, scope);
    expect(await driveDevice(device, 'alice', { decision: 'deny' })).toBe('denied');
    expect(await pollDevice(oauthClient, registered, device)).toEqual({ result: 'denied' });
  });

  it('tokens are bound to the DPoP key, with a nonce', async () => {
    const registered = at({ clientId: 'public' });
    const dpopKey = await newDpopKey();
    const device = await startDevice(oauthClient, registered, scope);
    await driveDevice(device, 'alice');
    const polled = await pollDevice(oauthClient, registered, { ...device, dpopKey });
    if (polled.result !== 'granted') throw new Error(polled.result);
    const { access_token: accessToken } = polled.grant.response;

    const url = `${provider.origin}/api/me`;
    const call = async (proof: string) =>
      fetch(url, { headers: { authorization: `DPoP ${accessToken}`, dpop: proof } });
    const challenge = await call(await dpopProof({ dpopKey, accessToken, method: 'GET', url }, Date.now()));
    const nonce = challenge.headers.get('dpop-nonce') ?? '';
    const proof = { dpopKey, accessToken, method: 'GET', url, nonce };
    expect((await call(await dpopProof(proof, Date.now()))).status).toBe(200);
    const stolen = { ...proof, dpopKey: await newDpopKey() };
    expect((await call(await dpopProof(stolen, Date.now()))).status).toBe(401);
  });

  it('a device code is invalid for another client', async () => {
    const device = await startDevice(oauthClient, at({ clientId: 'public' }), scope);
    await driveDevice(device, 'alice');
    expect(await failureOf(pollDevice(oauthClient, at({ clientId: 'other' }), device))).toMatchObject({
      providerError: 'invalid_grant',
    });
  });
});

describe('a device flow at a hostile provider', () => {
  let listener: HttpListener;
  let origin: string;
  let registered: ResolvedClient;
  let answer: { status: number; body: unknown };
  const asked: URLSearchParams[] = [];

  beforeEach(async () => {
    asked.length = 0;
    listener = await listenHttp(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      asked.push(new URLSearchParams(body));
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    });
    origin = `http://localhost:${listener.port}`;
    registered = {
      registration: { clientId: 'postern' },
      metadata: {
        issuer: origin,
        token_endpoint: `${origin}/token`,
        device_authorization_endpoint: `${origin}/device`,
      },
    };
  });
  afterEach(() => listener.close());

  const honest = (changes: object = {}) => ({
    device_code: canaries.code,
    user_code: 'WDJB-MJHT',
    verification_uri: `${origin}/activate`,
    verification_uri_complete: `${origin}/activate?user_code=WDJB-MJHT`,
    expires_in: 900,
    ...changes,
  });
  const start = (status: number, body: unknown) => {
    answer = { status, body };
    return startDevice(oauthClient, registered, { scope: 'repo', resource: 'https://api.example' });
  };

  it('sends scope and resource, and polls every five seconds by default', async () => {
    expect(await start(200, honest())).toEqual({
      deviceCode: canaries.code,
      userCode: 'WDJB-MJHT',
      verificationUri: `${origin}/activate`,
      verificationUriComplete: `${origin}/activate?user_code=WDJB-MJHT`,
      expiresInMs: 900_000,
      intervalMs: 5000,
    });
    expect(Object.fromEntries(asked[0] ?? [])).toEqual({
      client_id: 'postern',
      scope: 'repo',
      resource: 'https://api.example',
    });
  });

  it('accepts the older name verification_url', async () => {
    const { verification_uri: verification_url, ...rest } = honest();
    expect(await start(200, { ...rest, verification_url })).toMatchObject({ verificationUri: verification_url });
  });

  it.each([
    ['https:\\\\as.example\\device', 'https://as.example/device'],
    ['HTTPS:as.example/device', 'https://as.example/device'],
  ])('normalises the verification URI %s as browsers do', async (verification_uri, verificationUri) => {
    expect(await start(200, honest({ verification_uri }))).toMatchObject({ verificationUri });
  });

  it.each([
    ['on another origin', 'https://elsewhere.example/activate?user_code=WDJB-MJHT'],
    ['of another scheme', 'javascript:alert(1)'],
    ['not a URL', '/activate'],
  ])('omits a complete URI that is %s', async (_, verification_uri_complete) => {
    const device = await start(200, honest({ verification_uri_complete }));
    expect(device).not.toHaveProperty('verificationUriComplete');
  });

  it.each([
    ['no device code', { device_code: undefined }],
    ['a device code with a line break', { device_code: 'a\nb' }],
    ['no user code', { user_code: undefined }],
    ['markup as user code', { user_code: '<b>1</b>' }],
    ['a sentence as user code', { user_code: 'Please call 555 0100 and tell them who you are' }],
    ['direction marks in the user code', { user_code: 'AB\u202eCD' }],
    ['another script in the user code', { user_code: 'АВСЕ' }],
    ['no verification URI', { verification_uri: undefined }],
    ['a verification URI with another scheme', { verification_uri: 'javascript:alert(1)' }],
    ['a verification URI without https', { verification_uri: 'http://as.example/activate' }],
    ['a verification URI with credentials', { verification_uri: 'https://as.example@evil.example/' }],
    ['no expiry', { expires_in: undefined }],
    ['an expiry in the past', { expires_in: -1 }],
    ['an expiry in words', { expires_in: 'soon' }],
    ['an expiry in a year', { expires_in: 31_536_000 }],
    ['an interval of a day', { interval: 86_400 }],
  ])('rejects a response with %s', async (_, changes) => {
    expect(await failureCodeOf(start(200, honest(changes)))).toBe('invalid_device_authorization');
  });

  it.each([
    ['HTML', '<!doctype html>'],
    ['an empty body', ''],
    ['an array', []],
    ['a duplicate name', '{"user_code":"AAAA","user_code":"BBBB"}'],
  ])('rejects a response with %s as body', async (_, body) => {
    expect(await failureCodeOf(start(200, body))).toBe('invalid_device_authorization');
  });

  it('refuses a loopback verification URI from a public provider', async () => {
    const device_authorization_endpoint = 'https://as.example/device';
    const inside = createOauthClient({
      fetch: withoutNetwork(async () => Response.json(honest({ verification_uri: 'http://localhost:1/' }))),
      now: Date.now,
    });
    const at = {
      ...registered,
      metadata: { token_endpoint: 'https://as.example/token', device_authorization_endpoint },
    };
    expect(await failureCodeOf(startDevice(inside, at, {}))).toBe('invalid_device_authorization');
  });

  it('reports errors of the endpoint, including errors with status 200', async () => {
    expect(await failureOf(start(400, { error: 'unauthorized_client' }))).toMatchObject({
      code: 'provider_error',
      providerError: 'unauthorized_client',
    });
    expect(await failureOf(start(200, { error: 'device_flow_disabled' }))).toMatchObject({
      code: 'provider_error',
      providerError: 'unregistered',
    });
    expect(await failureCodeOf(start(503, ''))).toBe('provider_unavailable');
    expect(await failureCodeOf(start(302, ''))).toBe('outbound_redirect');
  });

  it('sends no request if the metadata has no device authorization endpoint', async () => {
    registered = { ...registered, metadata: { token_endpoint: `${origin}/token` } };
    expect(await failureCodeOf(start(200, honest()))).toBe('invalid_metadata');
    expect(asked).toEqual([]);
  });

  const poll = (status: number, body: unknown) => {
    answer = { status, body };
    return pollDevice(oauthClient, registered, {
      deviceCode: canaries.code,
      parameters: { resource: 'https://api.example' },
    });
  };

  it.each([
    ['authorization_pending', 'pending'],
    ['slow_down', 'slow_down'],
    ['access_denied', 'denied'],
    ['expired_token', 'expired'],
  ])('the error %s means %s, after one request', async (error, result) => {
    expect(await poll(400, { error, error_description: canaries.description })).toEqual({ result });
    expect(asked.map(form => Object.fromEntries(form))).toEqual([
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: canaries.code,
        resource: 'https://api.example',
        client_id: 'postern',
      },
    ]);
  });

  it.each([
    [400, { error: 'invalid_grant' }, 'provider_error'],
    [401, { error: 'invalid_client' }, 'provider_error'],
    [400, { error: canaries.description }, 'provider_error'],
    [503, '', 'provider_unavailable'],
    [200, {}, 'invalid_token_response'],
    [200, { access_token: canaries.accessToken, token_type: 'mac' }, 'invalid_token_response'],
    [400, '<!doctype html>', 'invalid_token_response'],
  ])('a poll with status %i and body %j fails with %s', async (status, body, code) => {
    expect(await failureCodeOf(poll(status, body))).toBe(code);
  });
});

describe('hostile device authorization responses', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('device_authorization_endpoint');
  });
  afterEach(() => evil.close());

  const honestUri = 'https://as.example/device';
  const catalogue = Object.entries(hostileDeviceAnswers(honestUri));
  const start = async (answer: EvilAnswer) => {
    evil.deviceAuthorizationAnswer = () => answer;
    const metadata = evil.metadata as unknown as ResolvedClient['metadata'];
    return startDevice(oauthClient, { registration: { clientId: 'postern' }, metadata }, { scope: 'repo' });
  };
  // A different host is legitimate (google.com/device, microsoft.com/devicelogin), and the page shows it to the user.
  const accepted = ['verification_uri: other host'];

  it.each(catalogue.filter(([name]) => name.startsWith('verification_uri_complete')))(
    'omits the complete URI: %s',
    async (_, answer) => {
      const device = await start(answer);
      expect(device.verificationUri).toBe(honestUri);
      expect(device).not.toHaveProperty('verificationUriComplete');
    },
  );

  it.each(catalogue.filter(([name]) => !name.startsWith('verification_uri_complete') && !accepted.includes(name)))(
    'rejects %s',
    async (_, answer) => {
      expect(['invalid_device_authorization', 'provider_error', 'outbound_too_large']).toContain(
        await failureCodeOf(start(answer)),
      );
    },
  );
});

const answer = {
  device_code: 'device-code',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://as.example/activate',
  expires_in: 900,
};

it.each([
  [{}, { scope: 'read write' }],
  [{ requestScopeSeparator: ',' }, { scope: 'read,write' }],
  [{ scopeParameter: 'user_scope', requestScopeSeparator: ',' }, { user_scope: 'read,write' }],
] as const)('S19: a device flow formats scopes like authorization requests (%j)', async (changes, expected) => {
  const { asked, fetch } = recorder(200, answer);
  const at = providerFrom(
    {
      flow: 'device',
      tokenEndpoint: 'https://as.example/token',
      deviceAuthorizationEndpoint: 'https://as.example/device',
      ...changes,
    },
    { fetch },
  );
  await at.startDevice({ redirectUri, scopes: ['read', 'write'] });
  const form = Object.fromEntries(new URLSearchParams(String(asked[0]?.body)));
  expect(form).toEqual({ client_id: 'postern', ...expected });
});
