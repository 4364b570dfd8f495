import { afterEach, describe, expect, test, vi } from 'vitest';
import { Events, type HttpWorldOptions, startHttp } from '../testing/http-world.ts';
import { callOf, MODERN } from '../testing/wire-world.ts';

afterEach(() => void vi.useRealTimers());

/** No rule asks anybody, so there is no gateway. */
const start = (rules: HttpWorldOptions['rules'] = { default: 'pass' }) =>
  startHttp({ rules, gate: { check: false, onBackgroundError() {} } });

const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'read' };

describe('an error is the response to its request', () => {
  test.each([
    ['method', { 'mcp-method': 'tools/list' }],
    ['tool', { 'mcp-name': 'write' }],
  ])('whose header has another %s', async (_, other) => {
    await using world = await start();
    const response = await world.post(callOf(7, 'read', {}, { _meta: MODERN }), { ...headers, ...other });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32020 } });
    expect(world.requests.count).toBe(0);
  });

  test('that reaches no upstream', async () => {
    await using world = await start();
    await world.stopUpstream();
    const response = await world.post(callOf(7, 'read', {}, { _meta: MODERN }), headers);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32603 } });
  });
});

test('a body is sent on as what it was read as: JSON in UTF-8, whatever its header says', async () => {
  await using world = await start();
  // A reader of UTF-7 finds a quotation mark in it, and behind it another name.
  const hidden = '+ACI-,+ACI-name+ACI-:+ACI-write+ACI-,+ACI-x+ACI-:+ACI-';
  const call = callOf(7, 'read', {}, { x: hidden });
  const answered = world.post(call, { 'content-type': 'application/json; charset=utf-7' });
  const received = await world.requests.next();
  expect(received.headers['content-type']).toBe('application/json');
  received.result({});
  expect((await answered).status).toBe(200);
});

test('requests of a session at once are of one connection', async () => {
  await using world = await start();
  const opened = world.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} });
  (await world.requests.next()).result({}, { 'mcp-session-id': 'up-1' });
  const session = { 'mcp-session-id': (await opened).headers.get('mcp-session-id') ?? '' };
  const streamed = fetch(world.url, { headers: { ...session, accept: 'text/event-stream' } });
  const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' }, session);
  const both = [await world.requests.next(), await world.requests.next()];
  const stream = both.find(({ method }) => method === 'GET')?.response;
  stream?.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
  both.find(({ method }) => method === 'POST')?.result({});
  await answered;
  const events = new Events(await streamed);
  stream?.end('data: {"id":2}\n\n');
  expect(await events.next()).toEqual({ id: 2 });
});

test.each([600, 999])('a status that is none, %i, is a failure of the upstream', async status => {
  await using world = await start();
  const answered = world.post({ jsonrpc: '2.0', id: 1, method: 'x' });
  (await world.requests.next()).response.writeHead(status).end();
  expect((await answered).status).toBe(502);
});

test('what a server says of its tools is read anew after a while', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  await using world = await start({ trustAnnotations: true, default: 'deny' });
  const call = (id: number) => world.post(callOf(id, 'read', {}, { _meta: MODERN }), headers);
  const list = async (readOnlyHint: boolean) =>
    (await world.requests.next()).result({ tools: [{ name: 'read', annotations: { readOnlyHint } }] });
  const first = call(1);
  await list(true);
  (await world.requests.next()).result({});
  expect((await first).status).toBe(200);
  vi.advanceTimersByTime(10 * 60_000);
  const second = call(2);
  await list(false);
  expect(await (await second).json()).toMatchObject({ id: 2, result: { isError: true } });
});
