import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { postern } from '../index.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { postern as posternV1 } from '../v1/index.ts';
import type { McpEndpoint } from './endpoint.ts';

const RESOURCE = 'https://tracker.example/mcp';
const SDKS = ['v2', 'v1'] as const;

/** An issuer whose documents the test may change. */
class Issuer implements AsyncDisposable {
  readonly #httpServer = createServer(({ url = '' }, response) => {
    this.requests.push(url);
    const document = this.documents.get(url);
    if (typeof document === 'function') return document(response);
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(document === undefined ? '' : JSON.stringify(document));
  });
  readonly requests: string[] = [];
  readonly documents = new Map<string, object | ((response: ServerResponse) => void)>();
  kid = '';
  #key: CryptoKey | undefined;
  /** Text of the public key, as an attacker reads it. */
  published = '';

  static async start(): Promise<Issuer> {
    const issuer = new Issuer();
    await new Promise<void>(resolve => issuer.#httpServer.listen(0, '127.0.0.1', resolve));
    issuer.documents.set('/t/.well-known/openid-configuration', issuer.metadata());
    await issuer.rotate('first');
    return issuer;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#httpServer.address() as AddressInfo).port}`;
  }

  /** With a path, so that the two well-known forms differ. */
  get url(): string {
    return `${this.origin}/t`;
  }

  metadata(changes: object = {}): object {
    return { issuer: this.url, jwks_uri: `${this.origin}/keys`, ...changes };
  }

  async rotate(kid: string): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    [this.#key, this.kid, this.published] = [privateKey, kid, JSON.stringify(jwk)];
    this.documents.set('/keys', { keys: [{ ...jwk, kid, alg: 'ES256' }] });
  }

  async token(claims: object = {}, header: object = {}): Promise<string> {
    if (this.#key === undefined) throw new Error('no key');
    return await new SignJWT(this.claims(claims))
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: this.kid, ...header })
      .sign(this.#key);
  }

  claims(changes: object = {}) {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    return { iss: this.url, sub: 'alice', aud: RESOURCE, exp, client_id: 'host', scope: 'mcp read', ...changes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#httpServer.closeAllConnections();
    await new Promise(resolve => this.#httpServer.close(resolve));
  }
}

let stack: AsyncDisposableStack;
let gateway: ContractGateway;
let issuer: Issuer;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  stack = new AsyncDisposableStack();
  gateway = stack.use(await ContractGateway.start());
  issuer = stack.use(await Issuer.start());
  gateway.registration = { issuers: [issuer.url] };
});
afterEach(async () => {
  vi.useRealTimers();
  await stack.disposeAsync();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

let reported: Error[];
/** What the endpoint knows of its callers, in the order of their sessions. */
let callers: unknown[];
function endpoint(auth: unknown = true, sdk: (typeof SDKS)[number] = 'v2'): McpEndpoint {
  [reported, callers] = [[], []];
  const onBackgroundError = (error: Error) => void reported.push(error);
  // Without https, so that only the check of this package keeps it from being asked.
  const throughProxy: typeof fetch = (input, init) =>
    fetch(String(input).replace('http://id.example', issuer.origin), init);
  const connection = { url: gateway.url, apiKey: API_KEY, fetch: throughProxy };
  const options = { ...connection, check: false, onBackgroundError } as const;
  const gate = sdk === 'v1' ? posternV1(options) : postern(options);
  const info = { name: 'issues', version: '1.0.0' };
  const create = ({ authInfo }: { authInfo: unknown }) => {
    callers.push(authInfo);
    return sdk === 'v1' ? new McpServerV1(info) : new McpServer(info);
  };
  const mcp: McpEndpoint = Reflect.apply(gate.endpoint, undefined, [create, { auth }]);
  stack.defer(async () => {
    await mcp.close();
    gate.close();
  });
  return mcp;
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host', version: '1.0.0' } },
};
async function answer(mcp: McpEndpoint, token?: string, headers: object = {}): Promise<Response> {
  const request = new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    body: JSON.stringify(initialize),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
  const response = await mcp.fetch(request, { remoteAddress: '127.0.0.1' });
  await response.body?.cancel();
  return response;
}
const statusOf = async (mcp: McpEndpoint, token?: string) => (await answer(mcp, token)).status;

describe.each(SDKS)('S256: auth without an own verifier (SDK %s)', sdk => {
  test('takes resource, issuers and keys from the gateway, and names the user', async () => {
    const mcp = endpoint(true, sdk);
    const challenge = await answer(mcp);
    expect([challenge.status, challenge.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer resource_metadata="https://tracker.example/.well-known/oauth-protected-resource/mcp"',
    ]);
    const metadata = await mcp.fetch(new Request('http://127.0.0.1/.well-known/oauth-protected-resource/mcp'));
    expect(await metadata.json()).toMatchObject({ resource: RESOURCE, authorization_servers: [issuer.url] });
    const token = await issuer.token();
    expect(await statusOf(mcp, token)).toBe(200);
    expect(callers).toEqual([
      {
        token,
        clientId: 'host',
        scopes: ['mcp', 'read'],
        expiresAt: expect.any(Number),
        extra: { iss: issuer.url, sub: 'alice' },
      },
    ]);
    expect(await statusOf(mcp, await issuer.token({ sub: 'bob' }))).toBe(200);
    expect([gateway.described, issuer.requests]).toEqual([1, ['/t/.well-known/openid-configuration', '/keys']]);
  });

  test('is closed while the gateway does not answer, and opens when it does', async () => {
    gateway.registration = undefined;
    const mcp = endpoint(true, sdk);
    const token = await issuer.token();
    for (const given of [token, token, undefined]) {
      const refused = await answer(mcp, given);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    }
    expect(gateway.described).toBe(1);
    expect(reported).toMatchObject([{ name: 'GateCheckError', faults: [{ code: 'unavailable' }] }]);
    expect(callers).toEqual([]);
    gateway.registration = { issuers: [issuer.url] };
    pass(5);
    expect(await statusOf(mcp, token)).toBe(200);
    gateway.registration = undefined;
    pass(60);
    expect(await statusOf(mcp, token)).toBe(200);
  });
});

describe('S256: an access token', () => {
  test.each<[string, () => Promise<string> | string]>([
    ['of another issuer', () => issuer.token({ iss: 'https://evil.example' })],
    ['without an issuer', () => issuer.token({ iss: undefined })],
    ['of an issuer that begins the same', () => issuer.token({ iss: `${issuer.url}/x` })],
    ['for another audience', () => issuer.token({ aud: 'https://other.example/mcp' })],
    ['without an audience', () => issuer.token({ aud: undefined })],
    ['that has expired', () => issuer.token({ exp: Math.floor(Date.now() / 1000) - 1 })],
    ['that never expires', () => issuer.token({ exp: undefined })],
    ['that is not valid yet', () => issuer.token({ nbf: Math.floor(Date.now() / 1000) + 60 })],
    ['without a user', () => issuer.token({ sub: undefined })],
    ['of an unknown key', () => issuer.token({}, { kid: 'unknown' })],
    ['without a signature', () => new UnsecuredJWT(issuer.claims()).encode()],
    [
      'signed with the public key as secret',
      () =>
        new SignJWT(issuer.claims())
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: issuer.kid })
          .sign(new TextEncoder().encode(issuer.published)),
    ],
    [
      'signed with another key',
      async () =>
        new SignJWT(issuer.claims())
          .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: issuer.kid })
          .sign((await generateKeyPair('ES256')).privateKey),
    ],
    ['that is an ID token by its nonce', () => issuer.token({ nonce: 'n' }, { typ: 'JWT' })],
    ['that is an ID token by its type', () => issuer.token({ typ: 'ID' }, { typ: 'JWT' })],
    ['that is a logout token', () => issuer.token({}, { typ: 'logout+jwt' })],
    ['that is a DPoP proof', () => issuer.token({}, { typ: 'dpop+jwt' })],
    [
      'without a key id, where several keys are possible',
      async () => {
        const one = issuer.published;
        const token = await issuer.token({}, { kid: undefined });
        await issuer.rotate('second');
        issuer.documents.set('/keys', { keys: [one, issuer.published].map(text => JSON.parse(text)) });
        return token;
      },
    ],
    ['that is too long', () => issuer.token({ padding: 'x'.repeat(16_384) })],
  ])('%s is refused', async (_case, make) => {
    const refused = await answer(endpoint(), await make());
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
    expect([callers, reported]).toEqual([[], []]);
  });

  test.each<[string, object, object]>([
    ['of Keycloak', { typ: 'Bearer', azp: 'host', client_id: undefined }, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['with the long type', { aud: ['x', RESOURCE] }, { typ: 'application/AT+JWT' }],
    ['with scopes as a list', { scope: undefined, scp: ['mcp', 'read'] }, {}],
    ['with scopes of Entra ID', { scope: undefined, scp: 'mcp read' }, {}],
  ])('%s is accepted', async (_case, claims, header) => {
    expect(await statusOf(endpoint({ scopes: ['mcp'] }), await issuer.token(claims, header))).toBe(200);
    expect(callers).toMatchObject([{ clientId: 'host', scopes: ['mcp', 'read'] }]);
  });

  test('for an audience that the gateway has is accepted, unless the resource is named here', async () => {
    gateway.registration = { issuers: [issuer.url], audience: ['application-id'] };
    const token = await issuer.token({ aud: 'application-id' });
    expect(await statusOf(endpoint(), token)).toBe(200);
    expect(await statusOf(endpoint({ resource: RESOURCE }), token)).toBe(401);
  });

  test('that is opaque is refused, and the author learns what verifies it', async () => {
    const mcp = endpoint();
    expect(await statusOf(mcp, 'opaque')).toBe(401);
    expect(await statusOf(mcp, 'opaque')).toBe(401);
    expect(reported).toMatchObject([{ code: 'invalid_options', message: expect.stringContaining('`verifyToken`') }]);
  });
});

describe('S256: members that the author names', () => {
  test('replace those of the gateway, which is not asked if it is not needed', async () => {
    const auth = { resource: 'https://mcp.example.com/x', authorizationServers: [issuer.url] };
    const mcp = endpoint(auth);
    expect(await statusOf(mcp, await issuer.token({ aud: auth.resource }))).toBe(200);
    expect(await statusOf(mcp, await issuer.token())).toBe(401);
    expect(gateway.described).toBe(0);
    const foreign = endpoint({ authorizationServers: ['https://id.example'] });
    expect(await statusOf(foreign, await issuer.token())).toBe(401);
  });

  test('an own verifier works with the resource of the gateway', async () => {
    const verifyToken = (token: string) => ({ token, clientId: 'x', scopes: [], resource: new URL(RESOURCE) });
    expect(await statusOf(endpoint({ verifyToken }), 'opaque')).toBe(200);
    expect(await statusOf(endpoint({ verifyToken, scopes: ['mcp'] }), 'opaque')).toBe(403);
  });
});

describe('S256: issuers and their keys', () => {
  test('a new issuer of the gateway is known after a minute, and strangers cause one read a minute', async () => {
    gateway.registration = { issuers: ['https://id.example'] };
    const mcp = endpoint();
    const token = await issuer.token();
    expect(await statusOf(mcp, token)).toBe(401);
    gateway.registration = { issuers: [issuer.url] };
    expect(await statusOf(mcp, token)).toBe(401);
    pass(60);
    expect(await statusOf(mcp, token)).toBe(200);
    for (let n = 0; n < 3; n += 1) {
      pass(10);
      expect(await statusOf(mcp, await issuer.token({ iss: `https://${n}` }))).toBe(401);
    }
    expect(gateway.described).toBe(2);
  });

  test('a new key is fetched once within the cooldown, and a withdrawn one stops verifying', async () => {
    const mcp = endpoint();
    const old = await issuer.token();
    expect(await statusOf(mcp, old)).toBe(200);
    await issuer.rotate('second');
    const token = await issuer.token();
    expect(await statusOf(mcp, token)).toBe(401);
    pass(31);
    expect(await statusOf(mcp, token)).toBe(200);
    expect(await statusOf(mcp, old)).toBe(401);
    await issuer.rotate('third');
    pass(600);
    expect(await statusOf(mcp, token)).toBe(401);
    expect(await statusOf(mcp, await issuer.token())).toBe(200);
  });

  test.each<[string, () => void]>([
    ['is down', () => issuer.documents.clear()],
    ['has no keys', () => issuer.documents.delete('/keys')],
    ['has metadata of another issuer', () => meta({ issuer: `${issuer.origin}/other` })],
    ['has keys at an address without https', () => meta({ jwks_uri: 'http://id.example/keys' })],
    [
      'redirects',
      () =>
        issuer.documents.set('/t/.well-known/openid-configuration', response =>
          response.writeHead(302, { location: `${issuer.origin}/elsewhere` }).end(),
        ),
    ],
    ['has metadata without an end', () => meta({ padding: 'x'.repeat(300_000) })],
  ])('an issuer that %s: 503, and its tokens work when it recovers', async (_case, fail) => {
    const before = new Map(issuer.documents);
    issuer.documents.set('/elsewhere', issuer.metadata());
    fail();
    const mcp = endpoint();
    const token = await issuer.token();
    const refused = await answer(mcp, token);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    const asked = issuer.requests.length;
    expect(await statusOf(mcp, token)).toBe(503);
    expect(issuer.requests).toHaveLength(asked);
    expect(reported).toMatchObject([{ name: 'GateCheckError', faults: [{ code: 'issuer_unavailable' }] }]);
    expect(await statusOf(mcp)).toBe(401);
    for (const [path, document] of before) issuer.documents.set(path, document);
    pass(5);
    expect(await statusOf(mcp, token)).toBe(200);
  });

  test('the other well-known form works, and an issuer with or without the slash of its empty path', async () => {
    issuer.documents.clear();
    await issuer.rotate('fourth');
    issuer.documents.set('/.well-known/oauth-authorization-server/t', issuer.metadata());
    expect(await statusOf(endpoint(), await issuer.token())).toBe(200);
    issuer.documents.set('/.well-known/openid-configuration', issuer.metadata({ issuer: `${issuer.origin}/` }));
    gateway.registration = { issuers: [issuer.origin] };
    expect(await statusOf(endpoint(), await issuer.token({ iss: `${issuer.origin}/` }))).toBe(200);
    expect(callers).toMatchObject([{ extra: { iss: issuer.origin } }]);
  });

  test('an issuer without https is never asked', async () => {
    const iss = 'http://id.example/t';
    gateway.registration = { issuers: [iss] };
    meta({ issuer: iss });
    expect(await statusOf(endpoint(), await issuer.token({ iss }))).toBe(503);
    expect(issuer.requests).toEqual([]);
  });
});

function meta(changes: object): void {
  issuer.documents.set('/t/.well-known/openid-configuration', issuer.metadata(changes));
}
