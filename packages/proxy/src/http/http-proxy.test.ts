import { request } from 'node:http';
import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Events, type HttpWorld, type HttpWorldOptions, type Received, startHttp } from '../testing/http-world.ts';
import { callOf, MODERN, startGateway, type WireMessage } from '../testing/wire-world.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A yes that no call takes is for the next equal call, so each test has a file of its own. */
let path: string;
beforeEach(({ task }) => {
  path = `/${task.id}`;
});

const gateOf = (holdMs = 10_000) => ({ ...gateway.options, check: false as const, holdMs, onBackgroundError() {} });
const start = (options: Partial<HttpWorldOptions> = {}) => startHttp({ gate: gateOf(), ...options });
const passing = { default: 'pass' } as const;

const DELETE = { name: 'delete', description: 'Deletes a file', inputSchema: { type: 'object' } };
const CAPABILITIES = { elicitation: { url: {} } };

/** Answers the proxy's own request for the list. */
async function listFor(world: HttpWorld, tool: object = DELETE): Promise<Received> {
  const received = await world.requests.next();
  expect(received.message.method).toBe('tools/list');
  received.result({ tools: [tool] });
  return received;
}

/** Opens a session of 2025-11-25. Returns the headers of its further requests. */
async function initialize(
  world: HttpWorld,
  p: { upstreamId?: string; capabilities?: object; headers?: Record<string, string> } = {},
) {
  const { upstreamId = 'up-1', capabilities = CAPABILITIES, headers = {} } = p;
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'host', version: '1.0.0' } };
  const answered = world.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers);
  const received = await world.requests.next();
  received.result({ protocolVersion: '2025-11-25' }, upstreamId === '' ? {} : { 'mcp-session-id': upstreamId });
  const response = await answered;
  expect(response.status).toBe(200);
  const id = response.headers.get('mcp-session-id') ?? '';
  return { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

const del = (id: number, more: object = {}) => callOf(id, 'delete', { path }, more);
const modernHeaders = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'delete' };
const modern = (id: number, more: object = {}) => del(id, { _meta: MODERN, ...more });

/** Ends the first round of a modern call. */
async function firstRound(world: HttpWorld, id: number, url?: string) {
  const answered = world.post(modern(id), modernHeaders, url);
  await listFor(world);
  const { result } = (await (await answered).json()) as WireMessage;
  expect(result.resultType).toBe('input_required');
  const { url: link } = result.inputRequests.postern.params;
  return { link, retry: { requestState: result.requestState, inputResponses: { postern: { action: 'accept' } } } };
}

/** Answers what the upstream is asked until `count` responses have come: lists at once, and calls with their number. */
async function serve(world: HttpWorld, responses: readonly Promise<Response>[]): Promise<number> {
  let calls = 0;
  let isOver = false;
  const served = (async () => {
    while (!isOver) {
      const received = await world.requests.next();
      if (received.message?.method === 'tools/list') received.result({ tools: [DELETE] });
      else {
        calls += 1;
        received.result({ content: [], call: calls });
      }
    }
  })();
  await Promise.all(responses);
  isOver = true;
  void served;
  return calls;
}

/** The status of a response for which the upstream is not asked. */
async function refusalOf(world: HttpWorld, answered: Promise<Response>): Promise<number | string | undefined> {
  const passed = world.requests.next().then(({ message }) => message.method);
  return await Promise.race([answered.then(({ status }) => status), passed]);
}

describe('S265: what no rule names passes over HTTP', () => {
  test('as the bytes that came, in both directions', async () => {
    await using world = await start({ rules: passing });
    const text = '{"jsonrpc":"2.0","id":1.0,"method":"x/unknown", "params":{"n":12345678901234567890}}';
    const answered = world.post(text);
    const received = await world.requests.next();
    expect(received.text).toBe(text);
    const answer = '{"jsonrpc":"2.0", "id":1.0,"result":{"big":12345678901234567890,"x":1.0}}';
    received.json(answer);
    expect(await (await answered).text()).toBe(answer);
  });

  test('with the headers of MCP, and nothing that says who asks', async () => {
    await using world = await start({
      rules: passing,
      headers: { authorization: 'Bearer of-the-proxy', 'x-key': 'k' },
    });
    const answered = world.post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      {
        authorization: 'Bearer of-the-person',
        cookie: 'a=b',
        'x-key': 'theirs',
        'x-tenant': 'theirs',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'ping',
        'last-event-id': '7',
      },
    );
    const { headers, result } = await world.requests
      .next()
      .then(received => ({ ...received, result: received.result }));
    expect(headers).toMatchObject({
      authorization: 'Bearer of-the-proxy',
      'x-key': 'k',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'ping',
      'last-event-id': '7',
    });
    expect(headers.cookie ?? headers['x-tenant']).toBeUndefined();
    result({}, { 'set-cookie': 'c=d', 'www-authenticate': 'Bearer', 'mcp-x': 'y', server: 'secret' });
    const response = await answered;
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'mcp-x': 'y' });
    for (const name of ['set-cookie', 'www-authenticate', 'server']) expect(response.headers.has(name)).toBe(false);
  });

  test('as a stream, event by event', async () => {
    await using world = await start({ rules: passing });
    const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' });
    const { response } = await world.requests.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('id: 1\ndata: {"n":1.0}\n\n');
    const reader = (await answered).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('id: 1\ndata: {"n":1.0}\n\n');
    response.end(':bye\r\n\r\n');
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(':bye\r\n\r\n');
    expect((await reader?.read())?.done).toBe(true);
  });

  test('except tools that are hidden', async () => {
    await using world = await start({ rules: { rules: [{ tools: 'drop', hide: true }], default: 'pass' } });
    const list = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"drop"},{"name":"b", "x":1.0}]}}';
    const without = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b", "x":1.0}]}}';
    const asked = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const inJson = world.post(asked);
    (await world.requests.next()).json(list);
    expect(await (await inJson).text()).toBe(without);
    const inEvents = world.post(asked);
    const { response } = await world.requests.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`id: 3\nevent: message\ndata: ${list}\n\n`);
    expect(await (await inEvents).text()).toBe(`id: 3\nevent: message\ndata: ${without}\n\n`);
  });

  test.each([
    ['a redirect', 307, 502],
    ['a refusal of the credential of the proxy', 401, 502],
    ['a refusal of its rights', 403, 502],
    ['an unknown session', 404, 404],
    ['a failure', 503, 503],
  ])('%s of the upstream: %i becomes %i', async (_name, status, seen) => {
    await using world = await start({ rules: passing });
    const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' });
    const { response } = await world.requests.next();
    response.writeHead(status, { location: world.url, 'www-authenticate': 'Bearer resource_metadata="x"' }).end();
    const { status: got, headers } = await answered;
    expect([got, headers.get('www-authenticate'), headers.get('location')]).toEqual([seen, null, null]);
    expect(world.requests.count).toBe(1);
  });

  test('and an upstream that is not there is an error', async () => {
    await using world = await start({ rules: passing });
    await world.stopUpstream();
    const response = await world.post({ jsonrpc: '2.0', id: 1, method: 'x' });
    expect([response.status, ((await response.json()) as WireMessage).error.code]).toEqual([502, -32603]);
  });
});

describe('S266: a session', () => {
  test('is sealed in its id: the upstream sees its own, at every replica and after a restart', async () => {
    await using world = await start({ rules: passing });
    const headers = await initialize(world);
    expect(headers['mcp-session-id']).not.toContain('up-1');
    for (const url of [world.url, await world.replica()]) {
      const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' }, headers, url);
      const received = await world.requests.next();
      expect(received.headers['mcp-session-id']).toBe('up-1');
      received.result({});
      expect((await answered).status).toBe(200);
    }
  });

  test('exists without one of the upstream, and ends without it', async () => {
    await using world = await start({ rules: passing });
    const headers = await initialize(world, { upstreamId: '' });
    const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' }, headers);
    const received = await world.requests.next();
    expect(received.headers['mcp-session-id']).toBeUndefined();
    received.result({});
    await answered;
    expect((await fetch(world.url, { method: 'DELETE', headers })).status).toBe(200);
    expect(world.requests.count).toBe(2);
  });

  test.each([
    ['invented', () => 'up-1'],
    ['changed', (id: string) => `${id.slice(0, -3)}AAA`],
    ['without its seal', (id: string) => id.split('.').slice(0, 4).join('.')],
    ['long', () => 'x'.repeat(7_000)],
  ])('with an id that is %s is unknown', async (_name, change) => {
    await using world = await start({ rules: passing });
    const headers = await initialize(world);
    const response = await world.post(
      { jsonrpc: '2.0', id: 1, method: 'x' },
      { ...headers, 'mcp-session-id': change(headers['mcp-session-id']) },
    );
    expect(response.status).toBe(404);
    expect(world.requests.count).toBe(1);
  });

  test('belongs to the person who opened it', async () => {
    await using world = await startForPeople();
    const alice = await initialize(world, { headers: { authorization: 'Bearer alice' } });
    for (const authorization of ['Bearer bob', 'Bearer test-user-of-another-issuer']) {
      const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' }, { ...alice, authorization });
      expect(await refusalOf(world, answered)).toBe(404);
    }
    const stream = await fetch(world.url, {
      headers: { ...alice, authorization: 'Bearer bob', accept: 'text/event-stream' },
    });
    expect(stream.status).toBe(404);
    expect(world.requests.count).toBe(1);
  });

  test('that the upstream no longer knows is unknown to a client that calls a held tool', async () => {
    await using world = await start();
    const headers = await initialize(world);
    const answered = world.post(del(1), headers);
    (await world.requests.next()).response.writeHead(404).end();
    expect((await answered).status).toBe(404);
  });

  test('that the upstream knows again goes on', async () => {
    await using world = await start({
      rules: { trustAnnotations: true, rules: [{ annotations: { readOnlyHint: true }, deny: true }] },
    });
    const headers = await initialize(world);
    const lost = world.post(del(1), headers);
    for (let round = 0; round < 2; round += 1) (await world.requests.next()).response.writeHead(404).end();
    expect((await lost).status).toBe(404);
    const answered = world.post(del(2), headers);
    await listFor(world, { ...DELETE, annotations: { readOnlyHint: true } });
    const response = await answered;
    expect([response.status, ((await response.json()) as WireMessage).result.isError]).toEqual([200, true]);
  });
});

const people: Readonly<Record<string, { iss: string; sub: string }>> = {
  alice: { iss: 'http://localhost', sub: 'test-user' },
  bob: { iss: 'http://localhost', sub: 'bob' },
  'test-user-of-another-issuer': { iss: 'https://other.example', sub: 'test-user' },
};

/** A proxy for everybody with a token. */
async function startForPeople(): Promise<HttpWorld> {
  const { subject, ...gate } = gateOf();
  const known = { ...people, alice: { iss: subject?.issuer ?? '', sub: subject?.subject ?? '' } } as Readonly<
    Record<string, object>
  >;
  return await startHttp({
    gate,
    admission: {
      auth: {
        resource: 'http://127.0.0.1/files',
        authorizationServers: ['https://id.example'],
        verifyToken: token => {
          const extra = known[token];
          return extra === undefined ? undefined : { token, clientId: 'host', scopes: [], extra: { ...extra } };
        },
      },
    },
  });
}

describe('S266: a person', () => {
  test('needs a token, and learns where to get one', async () => {
    await using world = await startForPeople();
    for (const headers of [{}, { authorization: 'Bearer nobody' }] as Record<string, string>[]) {
      const response = await world.post(modern(1), { ...modernHeaders, ...headers });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('/.well-known/oauth-protected-resource/files');
    }
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/files', world.url));
    expect(await metadata.json()).toMatchObject({ resource: 'http://127.0.0.1/files' });
    expect(world.requests.count).toBe(0);
  });

  test('is asked about their own call, whose state is of no use to another', async () => {
    await using world = await startForPeople();
    const as = (name: string) => ({ ...modernHeaders, authorization: `Bearer ${name}` });
    const answered = world.post(modern(1), as('alice'));
    const listed = await listFor(world);
    expect(listed.headers.authorization).toBeUndefined();
    const { result } = (await (await answered).json()) as WireMessage;
    await gateway.person.accept(result.inputRequests.postern.params.url);
    const retry = { requestState: result.requestState, inputResponses: { postern: { action: 'accept' } } };
    const theirs = world.post(modern(2, retry), as('bob'));
    await listFor(world);
    const refused = (await (await theirs).json()) as WireMessage;
    expect(refused.error.code).toBe(-32602);
    const own = world.post(modern(3, retry), as('alice'));
    await listFor(world);
    await listFor(world);
    const sent = await world.requests.next();
    expect([sent.message.method, sent.headers.authorization]).toEqual(['tools/call', undefined]);
    sent.result({ content: [] });
    expect(((await (await own).json()) as WireMessage).result.content).toEqual([]);
  });

  test.each<Record<string, string>>([
    { host: 'rebound.example' },
    { origin: 'https://evil.example' },
    { 'x-forwarded-for': '10.0.0.1' },
  ])('of this machine is served without a token, but no request with %j', async headers => {
    await using world = await start();
    expect(await statusOf(world.url, headers, modern(1))).toBe(403);
    expect(world.requests.count).toBe(0);
  });
});

/** Sends headers that fetch() does not let a caller set. */
async function statusOf(url: string, headers: Record<string, string>, message: object): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
  const sent = request(url, options, response => resolve(response.resume().statusCode));
  sent.on('error', reject).end(JSON.stringify(message));
  return await promise;
}

describe('S260: a confirmed call over HTTP', () => {
  test('of a session is asked for in its own stream, and sent once as it came', async () => {
    await using world = await start();
    const headers = await initialize(world);
    const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete","arguments":{"path":${JSON.stringify(path)}, "n":1.0}}}`;
    const answered = world.post(text, headers);
    expect((await listFor(world)).headers).toMatchObject({
      'mcp-session-id': 'up-1',
      'mcp-protocol-version': '2025-11-25',
    });
    const response = await answered;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = new Events(response);
    const { id, method, params } = await events.next();
    expect(method).toBe('elicitation/create');
    expect((await world.post({ jsonrpc: '2.0', id, result: { action: 'accept' } }, headers)).status).toBe(202);
    await gateway.person.accept(params.url);
    await listFor(world);
    const sent = await world.requests.next();
    expect([sent.text, sent.headers['mcp-session-id']]).toEqual([text, 'up-1']);
    sent.response.writeHead(200, { 'content-type': 'text/event-stream' });
    sent.response.write('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
    sent.response.end('data: {"jsonrpc":"2.0","id":7,"result":{"content":[]}}\n\n');
    expect((await events.next()).method).toBe('notifications/progress');
    expect((await events.next()).result.content).toEqual([]);
    expect(await events.end()).toBe(true);
  });

  test('of 2026-07-28 is sent once, however often and wherever its state comes', async () => {
    await using world = await start();
    const other = await world.replica();
    const { link, retry } = await firstRound(world, 1);
    await gateway.person.accept(link);
    const calls = Array.from({ length: 12 }, (_, index) =>
      world.post(modern(index + 2, retry), modernHeaders, index % 2 === 0 ? world.url : other),
    );
    expect(await serve(world, calls)).toBe(1);
  });

  test('that the person declines is not sent', async () => {
    await using world = await start();
    const { link, retry } = await firstRound(world, 1);
    await gateway.person.decline(link);
    const answered = world.post(modern(2, retry), modernHeaders);
    await listFor(world);
    expect((await answered).status).toBe(200);
    expect(world.requests.count).toBe(2);
  });

  test('of a client without a session gets the link as text, and is not sent before the yes', async () => {
    await using world = await start();
    const answered = world.post(del(1));
    await listFor(world);
    const { result } = (await (await answered).json()) as WireMessage;
    const link = /http:\/\/\S+/.exec(result.content.map(({ text }) => text).join(' '))?.[0] ?? '';
    await gateway.person.accept(link.replace(/[.,)]+$/, ''));
    const again = world.post(del(2));
    await listFor(world);
    await listFor(world);
    const sent = await world.requests.next();
    expect(sent.message.method).toBe('tools/call');
    sent.result({ content: [] });
    expect((await again).status).toBe(200);
  });

  test('without an answer has an unknown outcome, and is not sent again', async () => {
    await using world = await start();
    const { link, retry } = await firstRound(world, 1);
    await gateway.person.accept(link);
    const answered = world.post(modern(2, retry), modernHeaders);
    await listFor(world);
    await listFor(world);
    (await world.requests.next()).response.destroy();
    const { result } = (await (await answered).json()) as WireMessage;
    expect(result.isError).toBe(true);
    expect(world.log.some(line => line.startsWith('outcome of a confirmed call unknown'))).toBe(true);
    expect(world.requests.count).toBe(4);
  });

  test('is asked for with a warning if an equal one may have run, until one has an answer', async () => {
    const asked: string[] = [];
    const record: typeof fetch = async (input, init) => {
      if (String(input).endsWith('/v1/elicitations')) asked.push(String(init?.body));
      return await fetch(input, init);
    };
    await using world = await start({ gate: { ...gateOf(), fetch: record } });
    const isWarned = () => asked.at(-1)?.includes('"type":"time"');
    for (const [warned, end] of [
      [false, (received: Received) => void received.response.destroy()],
      [true, (received: Received) => received.result({ content: [] })],
      [false, (received: Received) => received.result({ content: [] })],
    ] as const) {
      const { link, retry } = await firstRound(world, 1);
      expect(isWarned()).toBe(warned);
      await gateway.person.accept(link);
      const answered = world.post(modern(2, retry), modernHeaders);
      await listFor(world);
      await listFor(world);
      end(await world.requests.next());
      await answered;
    }
  });

  test.each([500, 502, 307, 202])('answered with HTTP %i and nothing else has an unknown outcome', async status => {
    await using world = await start();
    const { link, retry } = await firstRound(world, 1);
    await gateway.person.accept(link);
    const answered = world.post(modern(2, retry), modernHeaders);
    await listFor(world);
    await listFor(world);
    (await world.requests.next()).response.writeHead(status, { location: world.url }).end();
    await answered;
    expect(world.log.some(line => line.startsWith('outcome of a confirmed call unknown'))).toBe(true);
  });

  test('that its client gives up is not sent, although the person says yes', async () => {
    await using world = await start();
    const headers = await initialize(world);
    const answered = world.post(del(7), headers);
    await listFor(world);
    const events = new Events(await answered);
    const { params } = await events.next();
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7.0 } };
    expect((await world.post(cancelled, headers)).status).toBe(202);
    await gateway.person.accept(params.url);
    const sent = world.requests.next().then(({ message }) => message.method);
    expect(await Promise.race([events.end(), sent])).toBe(true);
  });

  test.each([
    ['another tool', { 'mcp-name': 'read' }],
    ['another method', { 'mcp-method': 'ping' }],
    ['an argument that the body has not', { 'mcp-param-path': '/etc/passwd' }],
    ['an argument in base64 that the body has not', { 'mcp-param-path': '=?base64?L2V0Yy9wYXNzd2Q=?=' }],
    ['two tools', { 'mcp-name': 'delete, read' }],
  ])('whose headers name %s is refused', async (_name, headers) => {
    await using world = await start();
    expect(await refusalOf(world, world.post(modern(1), { ...modernHeaders, ...headers }))).toBe(400);
  });

  test.each([
    ['a batch', [del(1)], {}, 400],
    ['a form', del(1), { 'content-type': 'text/plain' }, 415],
    ['no JSON', '{', {}, 400],
    ['a call without an id', { jsonrpc: '2.0', method: 'tools/call', params: { name: 'delete' } }, {}, 400],
    ['a body that is too large', { x: 'x'.repeat(5 * 1024 * 1024) }, {}, 413],
  ])('as %s is refused', async (_name, body, headers, status) => {
    await using world = await start();
    expect((await world.post(body, headers as Record<string, string>)).status).toBe(status);
    expect(world.requests.count).toBe(0);
  });
});

test('a load balancer learns without a token that the proxy answers', async () => {
  await using world = await startForPeople();
  expect((await fetch(new URL('/health', world.url))).status).toBe(200);
});

test('the completion notice of a question reaches the stream of its session, between events of the upstream', async () => {
  await using world = await start({ gate: gateOf(0) });
  const headers = await initialize(world);
  const opened = fetch(world.url, { headers: { ...headers, accept: 'text/event-stream' } });
  const { response: stream } = await world.requests.next();
  stream.writeHead(200, { 'content-type': 'text/event-stream' });
  stream.write('data: {"half":');
  const events = new Events(await opened);
  const answered = world.post(del(1), headers);
  await listFor(world);
  const call = new Events(await answered);
  const { id, params } = await call.next();
  await world.post({ jsonrpc: '2.0', id, result: { action: 'accept' } }, headers);
  expect((await call.next()).error.code).toBe(-32042);
  await gateway.person.accept(params.url);
  stream.write('1}\n\n');
  expect(await events.next()).toEqual({ half: 1 });
  expect((await events.next()).method).toBe('notifications/elicitation/complete');
  stream.end();
  expect(await events.end()).toBe(true);
});
