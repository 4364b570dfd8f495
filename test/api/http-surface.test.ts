import { type Operation, openApiDocument, operations } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { sendBytes, statusBeforeEnd } from '../support/raw-http.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
let address = '';
let elicitationId = '';
beforeAll(async () => {
  world = await startWorld();
  address = world.gateways[0]?.address ?? '';
  elicitationId = (await world.ask(world.subject())).elicitationId;
});
afterAll(() => world?.[Symbol.asyncDispose]());

const authorized = `Authorization: Bearer ${keyOf('tracker')}\r\n`;
const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`;
const path = (template: string) => template.replace('{elicitationId}', elicitationId).replace(/\{[^}]+\}/, 'cn_x');

describe('the document', () => {
  it('is served as generated, which is valid OpenAPI 3.1 (packages/api)', async () => {
    const answer = await fetch(`${address}/openapi.json`);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const document = (await answer.json()) as Record<string, unknown>;
    expect(document).toEqual(openApiDocument(world.publicUrl));
  });

  it('describes every served path', () => {
    const app = world.gateways[0]?.app;
    const described = Object.values(operations as Record<string, Operation>);
    for (const { path: url, method } of described)
      expect(app?.hasRoute({ method, url: url.replace(/\{([^}]+)\}/g, ':$1') })).toBe(true);
    const documented = new Set(described.map(({ method, path: url }) => `${method} ${url}`));
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      for (const { path: url } of described) {
        if (documented.has(`${method} ${url}`)) continue;
        expect(app?.hasRoute({ method, url: url.replace(/\{([^}]+)\}/g, ':$1') })).toBe(false);
      }
    }
  });
});

it('S200: answers a POST to an unknown path, processor or identity provider with 404 before the body has arrived', async () => {
  const more = 'Content-Type: application/json\r\nContent-Length: 60000\r\n';
  const statusOf = (url: string) => statusBeforeEnd(address, `${head(`POST ${url}`, more)}[`);
  const paths = ['/nowhere', '/webhooks/nobody', '/login/back-channel-logout/nobody'];
  expect(await Promise.all(paths.map(statusOf))).toEqual(paths.map(() => 404));
});

describe('methods', () => {
  const allowed = Map.groupBy(Object.values(operations as Record<string, Operation>), operation => operation.path);
  const cases = [...allowed].flatMap(([template, list]) => {
    const methods = list.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    return ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH']
      .filter(method => !methods.includes(method))
      .map(method => [method, template, methods.join(', ')] as const);
  });

  it.each(cases)('%s %s is 405', async (method, template, allow) => {
    const answer = await sendBytes(address, head(`${method} ${path(template)}`, authorized));
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'method_not_allowed' });
  });

  it.each(cases.slice(0, 4))('%s %s without credential is 401 and lists no methods', async (method, template) => {
    const answer = await sendBytes(address, head(`${method} ${path(template)}`));
    expect(answer.status).toBe(401);
    expect(answer.headers.get('allow')).toBeNull();
  });

  it.each(['/v1', '/v1/', '/v1/nothing', '/v1/elicitations/', '/v1/elicitations/x/y', '/v1/elicitations/%2e%2e/x'])(
    '%s without credential is 401, with one 404',
    async url => {
      expect((await sendBytes(address, head(`GET ${url}`))).status).toBe(401);
      const known = await sendBytes(address, head(`GET ${url}`, authorized));
      expect(JSON.parse(known.body)).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  it('HEAD is GET without a body', async () => {
    const url = `/v1/elicitations/${elicitationId}`;
    const answer = await sendBytes(address, head(`HEAD ${url}`, authorized));
    expect([answer.status, answer.body]).toEqual([200, '']);
    expect((await sendBytes(address, head(`HEAD ${url}`))).status).toBe(401);
  });
});

describe('a path without a route', () => {
  it.each([
    ['a browser', 'text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['a machine', '*/*', 'application/problem+json; charset=utf-8'],
  ])('is a 404 that %s can read', async (_who, accept, type) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await fetch(`${address}/nothing`, { method, headers: { accept } });
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe(type);
    }
  });
});

describe('S29, S60: errors reveal only what the caller needs', () => {
  const everywhere = [
    'content-security-policy',
    'x-content-type-options',
    'referrer-policy',
    'cross-origin-opener-policy',
    'cross-origin-resource-policy',
    'x-frame-options',
    'permissions-policy',
  ];
  const post = (target: string, type: string, body: string, more = '') =>
    head(`POST ${target}`, `${more}Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`) + body;

  it.each<[string, number, () => string]>([
    ['nothing there', 404, () => head('GET /nothing')],
    ['an unknown path for a browser', 404, () => head('GET /nothing?SECRET', 'Accept: text/html,*/*;q=0.8\r\n')],
    ['a path with invalid percent-encoding', 400, () => head('GET /e/%zz<script>alert(1)</script>')],
    ['an API path with invalid percent-encoding', 400, () => head('GET /v1/elicitations/%zz"', authorized)],
    ['an overlong id', 404, () => head(`GET /v1/elicitations/${'x'.repeat(9000)}`, authorized)],
    ['a dot path', 404, () => head('GET /../../etc/passwd')],
    ['a double slash', 404, () => head('GET //evil.example/e/x')],
    ['an unknown method', 400, () => head('FOO /e/x')],
    ['no HTTP', 400, () => 'hello\r\n\r\n'],
    ['a QUERY without a media type', 400, () => head('QUERY /v1/elicitations', authorized)],
    ['a QUERY that no route answers', 404, () => post('/e/x', 'application/json', '{}').replace('POST', 'QUERY')],
    [
      'two lengths',
      400,
      () => head('POST /v1/elicitations', `${authorized}Content-Length: 2\r\nContent-Length: 3\r\n`),
    ],
    [
      'a length and chunks',
      400,
      () => head('POST /v1/elicitations', `${authorized}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`),
    ],
    ['a header with a line break', 400, () => head('GET /livez', 'X-A: a\rb\r\n')],
    ['broken JSON', 400, () => post('/v1/elicitations', 'application/json', '{"SECRET', authorized)],
    ['no credential', 401, () => post('/v1/elicitations', 'application/json', '{}')],
    ['another media type', 415, () => post('/v1/elicitations', 'text/xml', '<SECRET/>', authorized)],
    ['JSON to a page', 415, () => post(`/e/${elicitationId}/accept`, 'application/json', '{}')],
    ['a form post without an origin', 403, () => post('/e/x/accept', 'application/x-www-form-urlencoded', 'a=b')],
    [
      'a sign-in callback without a login transaction',
      400,
      () => head('GET /login/callback/example-id?code=SECRET&state=SECRET'),
    ],
    [
      'an OAuth callback without an authorization request',
      400,
      () => head('GET /callback/tracker/forge?code=SECRET&state=SECRET'),
    ],
    ['an expectation', 417, () => head('POST /v1/elicitations', 'Expect: everything\r\n')],
  ])('%s: %i', async (name, status, bytes) => {
    const answer = await sendBytes(address, bytes());
    expect(answer.status).toBe(status);
    expect(answer.text).not.toMatch(
      /SECRET|<script>alert|FST_|fastify|node_modules|\.ts:\d|\bat \S+ \(|v?\d+\.\d+\.\d+/i,
    );
    expect(answer.headers.get('server') ?? answer.headers.get('x-powered-by')).toBeNull();
    if (name === 'an expectation') return; // Node itself responds, without a body.
    for (const header of everywhere) expect(answer.headers.get(header), header).not.toBeNull();
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const type = answer.headers.get('content-type') ?? '';
    expect(type).toMatch(/^(application\/problem\+json|text\/html); charset=utf-8$/);
    if (type.startsWith('application'))
      expect(JSON.parse(answer.body)).toMatchObject({ requestId: expect.stringMatching(/^rq_/) });
  });

  it('the gateway creates the request id and ignores the caller’s', async () => {
    const mine = 'rq_mine\u001b[2J';
    const answer = await world.api.call('GET', '/v1/nothing', undefined, {
      'x-request-id': 'rq_mine',
      'request-id': mine.slice(0, 7),
    });
    expect(expectProblem(answer).requestId).not.toContain('mine');
  });

  it('there is no other listener and no debugging route', async () => {
    for (const url of ['/metrics', '/docs', '/documentation', '/debug', '/.env', '/server-status', '/swagger.json'])
      expect((await fetch(`${address}${url}`)).status).toBe(404);
  });
});

describe('S30: no CORS', () => {
  it('a preflight is refused and no response has CORS headers', async () => {
    const cors = 'Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n';
    for (const [url, more] of [
      ['/v1/elicitations', authorized],
      ['/v1/elicitations', ''],
      ['/e/x', ''],
      ['/openapi.json', ''],
    ] as const) {
      const answer = await sendBytes(address, head(`OPTIONS ${url}`, `${cors}${more}`));
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect([...answer.headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('S32, S59: Host and forwarding headers are ignored', () => {
  const forged = [
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'x-forwarded-port': '1' },
    { forwarded: 'host=evil.example;proto=http;for=203.0.113.9' },
    { 'x-original-url': '/e/evil', 'x-rewrite-url': '/e/evil' },
    { 'x-http-method-override': 'DELETE' },
  ];

  it.each(forged)('in issued URLs: %j', async headers => {
    const body = JSON.stringify(askFor(world, world.subject()));
    const lines = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    const host = 'host' in headers ? '' : 'Host: x\r\n';
    const answer = await sendBytes(
      address,
      `POST /v1/elicitations HTTP/1.1\r\n${host}Connection: close\r\n${authorized}${lines}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(answer.status).toBe(201);
    expect(answer.text).not.toContain('evil');
    expect((JSON.parse(answer.body) as { url: string }).url).toMatch(new RegExp(`^${world.publicUrl}/e/`));
  });

  it.each(forged)('in the sign-in redirect: %j', async headers => {
    const answer = await world.raw().get(`/login?e=${elicitationId}`, { headers });
    expect(answer.status).toBe(303);
    expect(new URL(answer.location ?? '').searchParams.get('redirect_uri')).toBe(
      `${world.publicUrl}/login/callback/example-id`,
    );
    expect(JSON.stringify(answer)).not.toContain('evil');
  });

  it('in pages and redirects, as is a request line with another host', async () => {
    const answer = await sendBytes(address, head(`GET http://evil.example/login?e=${elicitationId}`));
    expect(answer.headers.get('location')).not.toContain('evil');
    const page = await sendBytes(address, head(`GET http://evil.example/e/${elicitationId}`));
    expect(page.body).not.toContain('evil');
  });
});
