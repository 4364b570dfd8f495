import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { toNodeHandler } from './endpoint.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type FetchHandler = Parameters<typeof toNodeHandler>[0];
const errors: unknown[] = [];
const remoteAddress = '127.0.0.1';

async function listen(handler: FetchHandler, third?: unknown, before: object = {}): Promise<string> {
  errors.length = 0;
  const node = toNodeHandler(handler, error => void errors.push(error));
  const server = createServer((request, response) => void node(Object.assign(request, before), response, third));
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?x=1`;
}

test('passes method, path, headers and body on, and streams the response back', async () => {
  const url = await listen(async request => {
    const { pathname, search } = new URL(request.url);
    const text = `${request.method} ${pathname}${search} ${request.headers.get('x-two')} ${await request.text()}`;
    return new Response(text, { status: 201, headers: { 'x-answer': 'yes' } });
  });
  const response = await fetch(url, {
    method: 'POST',
    body: 'hello',
    headers: [
      ['x-two', 'a'],
      ['x-two', 'b'],
    ],
  });
  expect([response.status, response.headers.get('x-answer')]).toEqual([201, 'yes']);
  expect(await response.text()).toBe('POST /mcp?x=1 a, b hello');
});

test('takes a body that a parser has read: from express, and from the third argument', async () => {
  const echo: FetchHandler = async (_request, inputs) => Response.json(inputs);
  const next = () => {};
  const sources = [
    [next, { body: { from: 'express' } }],
    [{ from: 'fastify' }, {}],
  ] as const;
  for (const [third, before] of sources) {
    const response = await fetch(await listen(echo, third, before), { method: 'POST', body: '{}' });
    expect(await response.json()).toMatchObject({ parsedBody: third === next ? { from: 'express' } : third });
  }
});

test('takes the token of earlier middleware, and no other `auth`', async () => {
  const echo: FetchHandler = async (_request, inputs) => Response.json(inputs);
  const auth = { token: 't', clientId: 'host', scopes: [] };
  expect(await (await fetch(await listen(echo, undefined, { auth }))).json()).toEqual({
    authInfo: auth,
    remoteAddress,
  });
  expect(await (await fetch(await listen(echo, undefined, { auth: { sub: 'mallory' } }))).json()).toEqual({
    remoteAddress,
  });
});

test('cancels the request and the response when the MCP client leaves', async () => {
  const cancelled = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const url = await listen(async request => {
    request.signal.addEventListener('abort', () => aborted.resolve());
    return new Response(new ReadableStream({ cancel: () => cancelled.resolve() }));
  });
  const leaving = new AbortController();
  // The headers arrive although the stream has sent nothing.
  const response = await fetch(url, { signal: leaving.signal });
  expect(response.status).toBe(200);
  leaving.abort();
  await Promise.all([cancelled.promise, aborted.promise]);
  expect(errors).toEqual([]);
});

test('500 without a text for an error, and 405 for methods that fetch does not know', async () => {
  const url = await listen(() => Promise.reject(new Error('secret')));
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([500, '']);
  expect(errors).toEqual([new Error('secret')]);
  const trace = httpRequest(url, { method: 'TRACE' }).end();
  const [answer] = await once(trace, 'response');
  expect(answer.statusCode).toBe(405);
});

/** Sends bytes on one connection, and returns what the server sends until it closes the connection. */
async function exchange(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  return await text(socket);
}

test.each([
  ['//[', 200, '//['],
  ['//a:b@c/mcp?x=1', 200, '//a:b@c/mcp?x=1'],
  ['http://a:b@c/mcp?x=1', 200, '/mcp?x=1'],
  ['http://', 400, undefined],
  ['http://[/', 400, undefined],
  ['ftp://c/mcp', 400, undefined],
  ['*', 400, undefined],
])('the request target %s chooses no host, and is no internal error', async (target, status, path) => {
  const url = await listen(async request => new Response(request.url));
  const answer = await exchange(url, `OPTIONS ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(Number(answer.split(' ')[1])).toBe(status);
  if (path !== undefined) expect(answer).toContain(`http://localhost${path}`);
  expect(errors).toEqual([]);
});

test('closes a connection whose request body was not read, and keeps the others', async () => {
  const url = await listen(async () => new Response(null, { status: 401 }));
  const answer = await exchange(url, `POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nxxx`);
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect((await fetch(url)).headers.get('connection')).toBe('keep-alive');
});
