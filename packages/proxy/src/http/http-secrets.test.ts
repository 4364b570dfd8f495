import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Events, type HttpWorld, type HttpWorldOptions, type Received, startHttp } from '../testing/http-world.ts';
import { callOf, MODERN, startGateway, type WireMessage } from '../testing/wire-world.ts';

const MASK = '[hidden by postern-proxy]';
const KEY = 'exa-secret-key-0123456789';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway(['github']);
});
afterAll(() => gateway[Symbol.asyncDispose]());

const HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'search' };
const CREATE = { name: 'search', inputSchema: { type: 'object', properties: {} } };
const as = { header: 'Authorization', prefix: 'Bearer ' };
const search = (id: number, more: object = {}) => callOf(id, 'search', {}, { _meta: MODERN, ...more });

function start(rules: NonNullable<HttpWorldOptions['rules']>['rules']): Promise<HttpWorld> {
  const gate = { ...gateway.options, check: false as const, holdMs: 0, onBackgroundError() {} };
  return startHttp({ gate, rules: { rules }, headers: { authorization: 'Bearer of the proxy' } });
}

/** A call with a secret, which the person has agreed to. */
async function sent(world: HttpWorld, typed = {}): Promise<{ answered: Promise<Response>; received: Received }> {
  const asked = world.post(search(1), HEADERS);
  const list = await world.requests.next();
  expect(list.headers.authorization).toBe('Bearer of the proxy');
  list.result({ tools: [CREATE] });
  const { result } = (await (await asked).json()) as WireMessage;
  if (result.resultType === 'input_required')
    await gateway.person.accept(result.inputRequests.postern.params.url, typed);
  const answered = world.post(search(2), HEADERS);
  return { answered, received: await world.requests.next() };
}

describe('S270: a secret over HTTP', () => {
  test('goes in the header of the call alone, and after a 401 another one goes once', async () => {
    await using world = await start([{ accounts: { github: { as } } }]);
    const { answered, received } = await sent(world);
    expect(received.headers.authorization).toMatch(/^Bearer github-/);
    expect(received.text).not.toContain('github-');
    received.response.writeHead(401).end(JSON.stringify({ jsonrpc: '2.0', id: 2, error: { code: 1, message: 'x' } }));
    const again = await Promise.race([world.requests.next(), answered.then(() => undefined)]);
    expect(again?.text).toBe(received.text);
    expect(again?.headers.authorization).toMatch(/^Bearer github-/);
    expect(again?.headers.authorization).not.toBe(received.headers.authorization);
    again?.response.writeHead(401).end();
    const { result } = (await (await answered).json()) as WireMessage;
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text).toContain('401');
    expect(world.requests.count).toBe(3);
  });

  test('is hidden in results, in events, and in what other requests bring', async () => {
    await using world = await start([
      { tools: 'search', credential: { name: 'exa', title: 'API key of Exa', as } },
      { pass: true },
    ]);
    const { answered, received } = await sent(world, { value: KEY });
    expect(received.headers.authorization).toBe(`Bearer ${KEY}`);
    received.response.writeHead(200, { 'content-type': 'text/event-stream' });
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { message: KEY } };
    received.response.write(`data: ${JSON.stringify(progress)}\n\n`);
    const events = new Events(await answered);
    expect(await events.next()).toEqual({ ...progress, params: { message: MASK } });
    received.response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 2, result: { echo: [KEY] } })}\n\n`);
    expect(await events.next()).toMatchObject({ id: 2, result: { echo: [MASK] } });

    const other = world.post(callOf(3, 'other', {}, { _meta: MODERN }));
    (await world.requests.next()).json(`{"id":3.0, "result":{"key":"${KEY}"}}`);
    expect(await (await other).text()).toBe(`{"id":3.0, "result":{"key":"${MASK}"}}`);

    const streamed = world.post(callOf(4, 'other', {}, { _meta: MODERN }));
    const { response } = await world.requests.next();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const plain = ': alive\r\nid: 1\r\ndata: {"n":1.0}\r\n\r\n';
    response.write(`${plain}id: 2\ndata: {"key":"${KEY.slice(0, 9)}`);
    response.end(`${KEY.slice(9)}"}\n\ndata: not ended`);
    expect(await (await streamed).text()).toBe(`${plain}id: 2\ndata: {"key":"${MASK}"}\n\ndata: not ended`);
    expect(world.log.join()).not.toContain(KEY);
  });

  test('is hidden in fields of events, in headers, and in an answer that began before', async () => {
    await using world = await start([
      { tools: 'search', credential: { name: 'late', title: 'Key', as } },
      { pass: true },
    ]);
    const late = world.post(callOf(9, 'other', {}, { _meta: MODERN }));
    const { response: early } = await world.requests.next();
    early.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    const { answered, received } = await sent(world, { value: KEY });
    received.result({});
    await answered;
    early.end(`{"id":9,"result":"${KEY}"}`);
    expect(await (await late).text()).toBe(`{"id":9,"result":"${MASK}"}`);

    const streamed = world.post(callOf(4, 'other', {}, { _meta: MODERN }));
    const { response } = await world.requests.next();
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-x': KEY, 'retry-after': '1' });
    response.write(`: ${KEY}\ndata: 1\n\nid: ${KEY}\nevent: ${KEY}\ndata: 2\n\n`);
    response.end(`data: 3\n\ndata: {"key":"\\u0065${KEY.slice(1)}"}`);
    const got = await streamed;
    expect([got.headers.get('mcp-x'), got.headers.get('retry-after')]).toEqual([null, '1']);
    const events = `data: 1\n\nid: ${MASK}\nevent: ${MASK}\ndata: 2\n\ndata: 3\n\ndata: {"key":"${MASK}"}\n\n`;
    expect(await got.text()).toBe(events);
  });
});
