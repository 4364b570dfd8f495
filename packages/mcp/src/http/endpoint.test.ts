import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { errors } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod/v4';
import { postern } from '../index.ts';
import type { SubjectOption } from '../run/tool-call.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { outcome } from '../testing/outcome-tool.ts';
import type { EndpointAuth, VerifiedToken } from './bearer.ts';
import type { EndpointOptions, McpEndpoint } from './endpoint.ts';

let gateway: ContractGateway;
let stack: AsyncDisposableStack;
beforeEach(async () => {
  gateway = await ContractGateway.start();
  stack = new AsyncDisposableStack();
  stack.use(gateway);
});
afterEach(() => stack.disposeAsync());

const reported: Error[] = [];
const servers: McpServer[] = [];
function endpoint(options: EndpointOptions = {}, byContext?: SubjectOption<ServerContext>): McpEndpoint {
  reported.length = 0;
  servers.length = 0;
  const fixed = options.auth === undefined ? { issuer: 'https://idp.example.com', subject: 'alice' } : undefined;
  const subject = byContext ?? fixed;
  const gate = postern({
    url: gateway.url,
    apiKey: API_KEY,
    onBackgroundError: error => void reported.push(error),
    subject,
  });
  const mcp = gate.endpoint(() => {
    const server = new McpServer({ name: 'issues', version: '1.0.0' });
    servers.push(server);
    const handler = gate.tool((args: { title: string }, ctx) => outcome(ctx.gate, args));
    server.registerTool('outcome', { inputSchema: z.object({ title: z.string() }) }, handler);
    return server;
  }, options);
  stack.defer(async () => {
    await mcp.close();
    gate.close();
  });
  return mcp;
}

const tokenOf = (sub: string, more: Partial<VerifiedToken> = {}): VerifiedToken => ({
  token: sub,
  clientId: 'host',
  scopes: ['mcp'],
  extra: { iss: 'https://idp.example.com', sub },
  ...more,
});
const auth: EndpointAuth = {
  resource: 'https://mcp.example.com/mcp',
  authorizationServers: ['https://idp.example.com'],
  scopes: ['mcp'],
  verifyToken: token => (token === 'invalid' ? undefined : tokenOf(token)),
};

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { url: {} } },
    clientInfo: { name: 'host', version: '1.0.0' },
  },
};
const toolCall = {
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'outcome', arguments: { title: 'x' } },
};

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly sessionId?: string | undefined;
  readonly user?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly remoteAddress?: string | undefined;
}

async function send(mcp: McpEndpoint, { method = 'POST', ...more }: Sent = {}): Promise<Response> {
  const sent = { remoteAddress: '127.0.0.1', ...more };
  const body = method === 'POST' ? JSON.stringify(sent.body ?? initialize) : null;
  return await mcp.fetch(
    new Request(`http://127.0.0.1:3000${sent.path ?? '/mcp'}`, {
      method,
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        host: '127.0.0.1:3000',
        ...(sent.sessionId === undefined ? undefined : { 'mcp-session-id': sent.sessionId }),
        ...(sent.user === undefined ? {} : { authorization: `Bearer ${sent.user}` }),
        ...sent.headers,
      },
    }),
    { remoteAddress: sent.remoteAddress },
  );
}

/** Opens a session, and reads the response to its end. */
async function open(mcp: McpEndpoint, user?: string): Promise<string> {
  const response = await send(mcp, user === undefined ? {} : { user });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}
const ping = (sessionId: string, user?: string): Sent => ({
  sessionId,
  body: { jsonrpc: '2.0', id: 3, method: 'ping' },
  user,
});
async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

describe('S93: requests that a web page may have sent', () => {
  test.each([
    ['another host name', { host: 'rebound.example' }],
    ['a host name that begins like loopback', { host: '127.0.0.1.rebound.example' }],
    ['an invalid host', { host: 'a b' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['another origin on loopback by name only', { origin: 'https://localhost.evil.example' }],
  ])('403 for %s, before an MCP server is created', async (_case, headers) => {
    expect(await statusOf(send(endpoint(), { headers }))).toBe(403);
    expect(servers).toEqual([]);
  });

  test.each([
    [{ host: 'localhost:3000' }],
    [{ host: '[::1]:3000', origin: 'http://[::1]:6274' }],
    [{ host: '127.8.9.10', origin: 'http://localhost:6274' }],
  ])('loopback may: %o', async headers => {
    expect(await statusOf(send(endpoint(), { headers }))).toBe(200);
  });

  test('allowed hosts and origins replace and extend those of loopback', async () => {
    const mcp = endpoint({ allowedHosts: ['mcp.internal'], allowedOrigins: ['https://chat.example'] });
    const headers = { host: 'mcp.internal:8080', origin: 'https://chat.example' };
    expect(await statusOf(send(mcp, { headers }))).toBe(200);
    expect(await statusOf(send(mcp))).toBe(403);
  });

  test('403 for a client on another machine that names loopback, unless it has a token or its host is allowed', async () => {
    const remoteAddress = '192.0.2.2';
    expect(await statusOf(send(endpoint(), { remoteAddress }))).toBe(403);
    expect(await statusOf(send(endpoint(), { remoteAddress: '::ffff:192.0.2.2' }))).toBe(403);
    expect(servers).toEqual([]);
    for (const local of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect(await statusOf(send(endpoint(), { remoteAddress: local }))).toBe(200);
    expect(await statusOf(send(endpoint({ auth }), { remoteAddress, user: 'alice' }))).toBe(200);
    expect(await statusOf(send(endpoint({ allowedHosts: ['127.0.0.1'] }), { remoteAddress }))).toBe(200);
  });

  const proxyHeaders = [
    ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-prefix'],
    ...['x-forwarded', 'x-original-forwarded-for', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cdn-loop'],
    ...['cf-connecting-ip', 'fastly-client-ip', 'x-envoy-external-address', 'x-amzn-trace-id', 'x-azure-fdid'],
  ];

  test('403 for an unknown peer, and for a request that a proxy on this machine forwards', async () => {
    const unknown = await send(endpoint(), { remoteAddress: undefined });
    expect(unknown.status).toBe(403);
    expect(await unknown.text()).toContain('remoteAddress');
    for (const name of proxyHeaders)
      expect(await statusOf(send(endpoint(), { headers: { [name]: 'for=192.0.2.2' } })), name).toBe(403);
    expect(servers).toEqual([]);
    const headers = { 'x-forwarded-for': '192.0.2.2' };
    expect(await statusOf(send(endpoint({ auth }), { remoteAddress: undefined, headers, user: 'alice' }))).toBe(200);
    expect(await statusOf(send(endpoint({ allowedHosts: ['127.0.0.1'] }), { headers }))).toBe(200);
  });

  test('with a token any host name may be asked for, and the origin is still checked', async () => {
    const mcp = endpoint({ auth });
    const host = 'mcp.example.com';
    const statuses = ['https://mcp.example.com', 'https://evil.example'].map(origin =>
      statusOf(send(mcp, { user: 'alice', headers: { host, origin } })),
    );
    expect(await Promise.all(statuses)).toEqual([200, 403]);
  });

  test('a form of another origin has another content type: 415', async () => {
    expect(await statusOf(send(endpoint(), { headers: { 'content-type': 'text/plain' } }))).toBe(415);
  });
});

const issuedTo = () =>
  gateway.requests.map(({ body }) => body).find(body => typeof body === 'object' && body !== null && 'kind' in body);

test('S230: a fixed subject is served in both eras, once the endpoint has checked the source', async () => {
  const subject = { issuer: 'https://idp.example.com', subject: 'alice' };
  const mcp = endpoint();
  const asking = await send(mcp, { sessionId: await open(mcp), body: toolCall });
  await expect.poll(issuedTo).toMatchObject({ subject });
  await asking.body?.cancel();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'outcome' };
  const body = { ...toolCall, params: { ...toolCall.params, _meta: meta } };
  expect(await (await send(mcp, { headers, body })).text()).toContain('input_required');
});

test('S228: a client of an older revision chooses no tool by a header', async () => {
  const mcp = endpoint({ auth });
  const sessionId = await open(mcp, 'alice');
  const headers = { 'mcp-name': 'delete_all' };
  const asking = await send(mcp, { sessionId, user: 'alice', headers, body: toolCall });
  await expect.poll(issuedTo).toMatchObject({ requestedBy: { tool: 'outcome' } });
  await asking.body?.cancel();
});

describe('S93: access tokens', () => {
  const metadata = 'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"';

  test('401 with the metadata, for no token, an invalid, an expired and a foreign one', async () => {
    const mcp = endpoint({ auth });
    const missing = await send(mcp);
    expect([missing.status, missing.headers.get('www-authenticate')]).toEqual([401, `Bearer scope="mcp", ${metadata}`]);
    const verifiers: EndpointAuth['verifyToken'][] = [
      () => undefined,
      token => tokenOf(token, { expiresAt: Math.floor(Date.now() / 1000) - 1 }),
      token => tokenOf(token, { resource: new URL('https://other.example.com/mcp') }),
      () => Promise.reject(Object.assign(new Error('expired'), { code: 'invalid_token' })),
      () => Promise.reject(Object.assign(new Error('expired'), { errorCode: 'invalid_token' })),
      () => Promise.reject(new errors.JWTExpired('expired', {})),
      () => Promise.reject(new errors.JWTClaimValidationFailed('another audience', {})),
      () => Promise.reject(new errors.JWSInvalid('no token')),
      () => Promise.reject(new errors.JWSSignatureVerificationFailed()),
      () => Promise.reject(new errors.JWKSNoMatchingKey()),
    ];
    for (const verifyToken of verifiers) {
      const refused = await send(endpoint({ auth: { ...auth, verifyToken } }), { user: 'alice' });
      const challenge = `Bearer error="invalid_token", scope="mcp", ${metadata}`;
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, challenge]);
    }
    expect(servers).toEqual([]);
  });

  test('403 for a token without the scope', async () => {
    const verifyToken = (token: string) => tokenOf(token, { scopes: ['other'] });
    const refused = await send(endpoint({ auth: { ...auth, verifyToken } }), { user: 'alice' });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
  });

  test('the metadata needs no token, and says where to get one', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp';
    const response = await send(endpoint({ auth }), { method: 'GET', path });
    expect(await response.json()).toEqual({
      resource: 'https://mcp.example.com/mcp',
      authorization_servers: ['https://idp.example.com'],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
    });
    expect(await statusOf(send(endpoint(), { method: 'GET', path }))).toBe(404);
  });

  test('a verifier that fails is no invalid token', async () => {
    const verifyToken = () => Promise.reject(new Error('no keys'));
    await expect(send(endpoint({ auth: { ...auth, verifyToken } }), { user: 'alice' })).rejects.toThrow('no keys');
    const unreachable = () => Promise.reject(new errors.JWKSTimeout());
    const failing = send(endpoint({ auth: { ...auth, verifyToken: unreachable } }), { user: 'alice' });
    await expect(failing).rejects.toThrow(errors.JWKSTimeout);
  });

  test('2026-07-28 needs a token as well, and a token of earlier middleware cannot replace one', async () => {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
    const body = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} };
    expect(await statusOf(send(endpoint({ auth }), { headers, body }))).toBe(401);
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST' });
    expect(await statusOf(endpoint({ auth }).fetch(request, { authInfo: tokenOf('mallory') }))).toBe(401);
  });
});

describe('S94: sessions', () => {
  test('another user cannot use, listen to or end a session: 404, as for an unknown one', async () => {
    const mcp = endpoint({ auth });
    const sessionId = await open(mcp, 'alice');
    const attempts: Sent[] = [
      { body: toolCall },
      { method: 'GET', headers: { accept: 'text/event-stream' } },
      { method: 'DELETE' },
    ];
    for (const attempt of attempts) {
      expect(await statusOf(send(mcp, { ...attempt, sessionId, user: 'bob' }))).toBe(404);
      expect(await statusOf(send(mcp, { ...attempt, sessionId: 'unknown', user: 'alice' }))).toBe(404);
    }
    expect(await statusOf(send(mcp, ping(sessionId, 'alice')))).toBe(200);
    expect(gateway.elicitations).toEqual([]);
  });

  test('a token without `iss` and `sub` owns the session alone', async () => {
    const verifyToken = (token: string) => tokenOf(token, { extra: {} });
    const mcp = endpoint({ auth: { ...auth, verifyToken } });
    const sessionId = await open(mcp, 'one');
    const statuses = ['one', 'two'].map(user => statusOf(send(mcp, ping(sessionId, user))));
    expect(await Promise.all(statuses)).toEqual([200, 404]);
  });

  test('the option `subject` names the owner of a session, also if it is a function', async () => {
    const verifyToken = (token: string) =>
      tokenOf('service', { token, extra: { iss: 'https://idp.example.com', sub: 'x', user: token } });
    const ofSdk = (ctx: ServerContext) => ({
      issuer: 'https://idp.example.com',
      subject: String(ctx.http?.authInfo?.extra?.['user']),
    });
    const mcp = endpoint({ auth: { ...auth, verifyToken } }, ofSdk);
    const sessionId = await open(mcp, 'alice');
    const statuses = ['alice', 'bob'].map(user => statusOf(send(mcp, ping(sessionId, user))));
    expect(await Promise.all(statuses)).toEqual([200, 404]);
  });

  test('a function of the rest of the context leaves the session to the token that opened it', async () => {
    const mcp = endpoint({ auth }, ctx => ({ issuer: 'https://idp.example.com', subject: ctx.mcpReq.method }));
    const sessionId = await open(mcp, 'alice');
    const statuses = ['alice', 'bob'].map(user => statusOf(send(mcp, ping(sessionId, user))));
    expect(await Promise.all(statuses)).toEqual([200, 404]);
  });

  test('a server of another copy of the SDK is refused', async () => {
    const gate = postern({ url: gateway.url, apiKey: API_KEY });
    stack.defer(() => gate.close());
    const copy = Object.create(null, Object.getOwnPropertyDescriptors(new McpServer({ name: 'x', version: '1' })));
    const mcp = gate.endpoint(() => copy);
    await expect(send(mcp)).rejects.toMatchObject({ code: 'other_sdk_copy' });
    await mcp.close();
  });

  test('DELETE ends a session', async () => {
    const mcp = endpoint();
    const sessionId = await open(mcp);
    expect(await statusOf(send(mcp, { method: 'DELETE', sessionId }))).toBe(200);
    expect(await statusOf(send(mcp, ping(sessionId)))).toBe(404);
  });

  test('an unused session ends after its time, one with an open stream does not', async () => {
    const mcp = endpoint({ sessionIdleMs: 1 });
    const [listening, unused] = [await open(mcp), await open(mcp)];
    const stream = await send(mcp, { method: 'GET', sessionId: listening });
    // A session that ended before its stream opened is another test's business.
    if (stream.status === 200) {
      await vi.waitUntil(async () => (await statusOf(send(mcp, ping(unused)))) === 404, { timeout: 20_000 });
      expect(await statusOf(send(mcp, ping(listening)))).toBe(200);
    }
    await stream.body?.cancel();
    await vi.waitUntil(async () => (await statusOf(send(mcp, ping(listening)))) === 404, { timeout: 20_000 });
  });

  test('a stream ends with the token that opened it', async () => {
    const verifyToken = (token: string) => tokenOf(token, { expiresAt: Date.now() / 1000 + 0.2 });
    const mcp = endpoint({ auth: { ...auth, verifyToken } });
    const sessionId = await open(mcp, 'alice');
    const stream = await send(mcp, { method: 'GET', sessionId, user: 'alice' });
    expect([stream.status, await stream.text()]).toEqual([200, '']);
    expect(await statusOf(send(mcp, { method: 'GET', sessionId, user: 'alice' }))).toBe(200);
  });

  test('at the limit of a user the least recently used session ends, never another user’s', async () => {
    const mcp = endpoint({ auth, maxSessionsPerUser: 2 });
    const other = await open(mcp, 'bob');
    const [first, second] = [await open(mcp, 'alice'), await open(mcp, 'alice')];
    await statusOf(send(mcp, ping(first, 'alice')));
    const third = await open(mcp, 'alice');
    const alice = await Promise.all([first, second, third].map(id => statusOf(send(mcp, ping(id, 'alice')))));
    expect(alice).toEqual([200, 404, 200]);
    expect(await statusOf(send(mcp, ping(other, 'bob')))).toBe(200);
  });

  test('at the limit of the endpoint an unused session ends, and 503 if all are in use', async () => {
    const mcp = endpoint({ maxSessions: 2 });
    const used = await open(mcp);
    const stream = await send(mcp, { method: 'GET', sessionId: used });
    const unused = await open(mcp);
    const third = await open(mcp);
    expect(await statusOf(send(mcp, ping(unused)))).toBe(404);
    const secondStream = await send(mcp, { method: 'GET', sessionId: third });
    const refused = await send(mcp);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
    await stream.body?.cancel();
    await secondStream.body?.cancel();
    expect(await statusOf(send(mcp))).toBe(200);
  });

  test('concurrent requests cannot exceed a limit', async () => {
    const mcp = endpoint({ maxSessions: 3 });
    const responses = await Promise.all(Array.from({ length: 12 }, () => send(mcp)));
    // The responses are not read to their end, so their sessions are in use.
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, ...Array(9).fill(503)]);
    expect(servers).toHaveLength(3);
    await Promise.all(responses.map(({ body }) => body?.cancel()));
  });

  test('an `initialize` that the SDK refuses leaves no session', async () => {
    const mcp = endpoint({ maxSessions: 1 });
    const headers = { accept: 'text/html' };
    expect(await statusOf(send(mcp, { headers }))).toBe(406);
    expect(await statusOf(send(mcp, { headers }))).toBe(406);
    await open(mcp);
  });

  test('a completion notice that had no stream arrives when the stream opens, and nothing else does', async () => {
    const mcp = endpoint();
    const sessionId = await open(mcp);
    const [server] = servers;
    const notice = (elicitationId: string) => ({
      method: 'notifications/elicitation/complete' as const,
      params: { elicitationId },
    });
    await server?.server.notification(notice('el-1'));
    await server?.sendToolListChanged();
    const stream = await send(mcp, { method: 'GET', sessionId });
    await server?.server.notification(notice('el-2'));
    await mcp.close();
    const messages = [...(await stream.text()).matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
    expect(messages.map(({ params }) => params)).toEqual([{ elicitationId: 'el-1' }, { elicitationId: 'el-2' }]);
  });

  test('close() ends sessions and refuses requests', async () => {
    const mcp = endpoint();
    const sessionId = await open(mcp);
    const stream = await send(mcp, { method: 'GET', sessionId });
    await mcp.close();
    expect(await stream.text()).toBe('');
    expect(await statusOf(send(mcp))).toBe(503);
  });
});

describe('S94: bodies', () => {
  test('413 above the limit, without reading on', async () => {
    const mcp = endpoint({ maxBodyBytes: 1_000 });
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        if (pulled > 20) controller.close();
        else controller.enqueue(new Uint8Array(600));
      },
    });
    const headers = { 'content-type': 'application/json', host: 'localhost' };
    const request = new Request('http://localhost/mcp', { method: 'POST', body, headers, duplex: 'half' });
    expect(await statusOf(mcp.fetch(request, { remoteAddress: '127.0.0.1' }))).toBe(413);
    expect(pulled).toBeLessThan(6);
  });

  test.each([
    ['no JSON', { body: undefined, raw: '{' }, 400],
    ['no UTF-8', { raw: new Uint8Array([0x22, 0xff, 0x22]) }, 400],
    ['null', { raw: 'null' }, 400],
    ['an empty batch', { raw: '[]' }, 400],
    ['a batch with initialize', { raw: JSON.stringify([initialize]) }, 400],
    ['a call without a session', { raw: JSON.stringify(toolCall) }, 400],
  ])('%s: 400, and no MCP server is created', async (_case, { raw }, status) => {
    const headers = {
      'content-type': 'application/json',
      host: 'localhost',
      accept: 'application/json, text/event-stream',
    };
    const request = new Request('http://localhost/mcp', { method: 'POST', body: raw, headers });
    expect(await statusOf(endpoint().fetch(request, { remoteAddress: '127.0.0.1' }))).toBe(status);
    expect(servers).toEqual([]);
  });

  test('405 for methods that MCP does not have', async () => {
    expect(await statusOf(send(endpoint(), { method: 'PUT' }))).toBe(405);
  });
});

test.each([
  ['an unknown option', { maxSession: 1 }],
  ['no verifier', { auth: { ...auth, verifyToken: undefined } }],
  ['no authorization server', { auth: { ...auth, authorizationServers: [] } }],
  ['a scope that would end the challenge', { auth: { ...auth, scopes: ['a"b'] } }],
  ['no limit', { maxSessions: 0 }],
])('invalid_options: %s', (_case, options) => {
  const create = Reflect.apply(endpoint, undefined, [{}]);
  expect(create).toBeDefined();
  expect(() => Reflect.apply(endpoint, undefined, [options])).toThrow(
    expect.objectContaining({ code: 'invalid_options' }),
  );
});
