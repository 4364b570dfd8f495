import { setImmediate } from 'node:timers/promises';
import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callOf, MODERN, nextAt, startGateway, startWire, type WireWorld } from './testing/wire-world.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const startAsking = (holdMs = 10_000, upstream = 'files') =>
  startWire({}, { ...gateway.options, check: false, holdMs, onBackgroundError() {} }, upstream);

/** A yes that no call takes is for the next equal call, so each test has a file of its own. */
let path: string;
beforeEach(({ task }) => {
  path = `/${task.id}`;
});

const DELETE = { name: 'delete', description: 'Deletes a file', inputSchema: { type: 'object' } };

/** Answers the proxy's own requests for the list. */
async function listFor(world: WireWorld, tool: object = DELETE): Promise<void> {
  const { id, method } = await world.upstream.next();
  expect(method).toBe('tools/list');
  world.upstream.send({ jsonrpc: '2.0', id, result: { tools: [tool] } });
}

async function initialize(world: WireWorld): Promise<void> {
  const capabilities = { elicitation: { url: {} } };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'host', version: '1.0.0' } };
  world.client.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await world.upstream.next();
  world.upstream.send({ jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-11-25', capabilities: {} } });
  await world.client.next();
}

/** The link of the question that a 2025-11-25 client gets. It opens the link. */
async function asked(world: WireWorld): Promise<string> {
  const { id, method, params } = await world.client.next();
  expect(method).toBe('elicitation/create');
  world.client.send({ jsonrpc: '2.0', id, result: { action: 'accept' } });
  return params.url;
}

/** A call of 2025-11-25 with id 1 that the person has confirmed, and that has reached the upstream. */
async function sent(world: WireWorld): Promise<void> {
  await initialize(world);
  world.client.send(callOf(1, 'delete', { path }));
  await listFor(world);
  await gateway.person.accept(await asked(world));
  await listFor(world);
  expect(await world.upstream.next()).toMatchObject({ id: 1, method: 'tools/call' });
}

const modern = (id: number, args: object, more: object = {}) => callOf(id, 'delete', args, { _meta: MODERN, ...more });

/** Ends the first round of a modern call. */
async function firstRound(world: WireWorld, id: number, args: object) {
  world.client.send(modern(id, args));
  await listFor(world);
  const { result } = await world.client.next();
  expect(result.resultType).toBe('input_required');
  const { url } = result.inputRequests.postern.params;
  return { url, retry: { requestState: result.requestState, inputResponses: { postern: { action: 'accept' } } } };
}

describe('S260: a confirmed call', () => {
  test('of 2025-11-25 goes upstream once, as the text that came, after the person has said yes', async () => {
    await using world = await startAsking();
    await initialize(world);
    const text =
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"delete","arguments":{"n":1.0, "path":"/a"}}}';
    world.client.send(text);
    await listFor(world);
    await gateway.person.accept(await asked(world));
    await listFor(world);
    expect(await world.upstream.line()).toBe(text);
    const answer = '{"jsonrpc":"2.0","id":7,"result":{"content":[],"big":12345678901234567890}}';
    world.upstream.send(answer);
    expect(await world.client.next()).toMatchObject({ method: 'notifications/elicitation/complete' });
    expect(await world.client.line()).toBe(answer);
  });

  test('of 2026-07-28 goes upstream without what belonged to the question', async () => {
    await using world = await startAsking();
    const { url, retry } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    world.client.send(modern(2, { path }, retry));
    await listFor(world);
    await listFor(world);
    expect(await world.upstream.next()).toEqual(modern(2, { path }));
    world.upstream.send({ jsonrpc: '2.0', id: 2, result: { resultType: 'complete', content: [] } });
    expect(await world.client.next()).toMatchObject({ id: 2, result: { resultType: 'complete' } });
  });

  test('that the person declines goes nowhere, and the answer is final', async () => {
    await using world = await startAsking();
    await initialize(world);
    world.client.send(callOf(1, 'delete', { path }));
    await listFor(world);
    await gateway.person.decline(await asked(world));
    const notice = await world.client.next();
    const { result } = notice.method === undefined ? notice : await world.client.next();
    expect(result).toMatchObject({
      _meta: { 'io.modelcontextprotocol/authorization': { remediation: 'unavailable' } },
    });
    world.client.send({ jsonrpc: '2.0', method: 'next' });
    expect(await world.upstream.next()).toMatchObject({ method: 'next' });
  });
});

describe('S261: a yes', () => {
  test('is for these arguments: a retry with others is refused', async () => {
    await using world = await startAsking();
    const { url, retry } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    for (const args of [{ path: '/b' }, { path: `${path}\u200b` }, { path, force: true }]) {
      world.client.send(modern(2, args, retry));
      await listFor(world);
      expect(await nextAt(world)).toMatchObject({ at: 'client', id: 2, error: { code: -32602 } });
    }
  });

  test('is for one call: a second one with the same state asks again', async () => {
    await using world = await startAsking(0);
    const { url, retry } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    world.client.send(modern(2, { path }, retry));
    await listFor(world);
    await listFor(world);
    expect(await world.upstream.next()).toMatchObject({ id: 2 });
    world.client.send(modern(3, { path }, retry));
    await listFor(world);
    const again = await nextAt(world);
    expect(again).toMatchObject({ at: 'client', id: 3, result: { resultType: 'input_required' } });
    expect(again.result.inputRequests.postern.params.url).not.toBe(url);
  });

  test('is for what the server said of the tool: one that changes meanwhile is not called', async () => {
    await using world = await startAsking();
    await initialize(world);
    world.client.send(callOf(1, 'delete', { path }));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    await listFor(world, { ...DELETE, description: 'Deletes everything' });
    expect(await nextAt(world)).toMatchObject({ method: 'notifications/elicitation/complete' });
    expect(await nextAt(world)).toMatchObject({ at: 'client', id: 1, result: { isError: true } });
    // The next call asks about the tool as it is now.
    world.client.send(callOf(2, 'delete', { path }));
    await listFor(world, { ...DELETE, description: 'Deletes everything' });
    await asked(world);
  });

  test('is for one of two equal calls: the other one asks anew', async () => {
    await using world = await startAsking();
    const first = await firstRound(world, 1, { path });
    const second = await firstRound(world, 2, { path });
    await gateway.person.accept(first.url);
    world.client.send(modern(3, { path }, first.retry));
    await listFor(world);
    await listFor(world);
    expect(await world.upstream.next()).toMatchObject({ id: 3 });
    world.client.send(modern(4, { path }, second.retry));
    await listFor(world);
    const again = await nextAt(world);
    expect(again).toMatchObject({ at: 'client', id: 4, result: { resultType: 'input_required' } });
    expect(again.result.inputRequests.postern.params.url).not.toBe(first.url);
  });

  test('that no call has taken is for the next equal call, and not for a tool that has changed', async () => {
    await using world = await startAsking();
    const { url } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    const changed = { ...DELETE, description: 'Deletes everything' };
    world.client.send(modern(2, { path }));
    await listFor(world, changed);
    expect(await nextAt(world)).toMatchObject({ at: 'client', id: 2, result: { resultType: 'input_required' } });
    world.client.send(modern(3, { path }));
    await listFor(world);
    await listFor(world);
    expect(await world.upstream.next()).toMatchObject({ id: 3 });
  });
});

test('a yes is for this server: an equal call of another one behind the same gateway asks anew, on a page of its own', async () => {
  await using staging = await startAsking(0, 'staging');
  await using production = await startAsking(0, 'production');
  const { url } = await firstRound(staging, 1, { path });
  await gateway.person.accept(url);
  production.client.send(modern(2, { path }));
  await listFor(production);
  const answer = await Promise.race([production.client.next(), production.upstream.next()]);
  expect(answer).toMatchObject({ id: 2, result: { resultType: 'input_required' } });
  expect(answer.result.inputRequests.postern.params.url).not.toBe(url);
});

test('a yes is for this tool: one whose name is equal only after normalisation asks anew', async () => {
  await using world = await startAsking(0);
  const listNone = async () => {
    const { id } = await world.upstream.next();
    world.upstream.send({ jsonrpc: '2.0', id, result: { tools: [] } });
  };
  world.client.send(callOf(1, 'cafe\u0301', { path }, { _meta: MODERN }));
  await listNone();
  const { result } = await world.client.next();
  await gateway.person.accept(result.inputRequests.postern.params.url);
  world.client.send(callOf(2, 'caf\u00e9', { path }, { _meta: MODERN }));
  await listNone();
  const answer = await Promise.race([world.client.next(), listNone()]);
  expect(answer).toMatchObject({ id: 2, result: { resultType: 'input_required' } });
});

describe('the MCP client gives a call up', () => {
  const alone = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

  test.each([
    ['alone', alone],
    ['in a batch', [alone]],
    ['with its id as another text', JSON.stringify(alone).replace('1}', '1.0}')],
  ])('%s, before the person has decided: nothing goes upstream, whatever the person says', async (_what, cancelled) => {
    await using world = await startAsking();
    await initialize(world);
    world.client.send(callOf(1, 'delete', { path }));
    await listFor(world);
    const url = await asked(world);
    world.client.send(cancelled);
    if (Array.isArray(cancelled)) expect(JSON.parse((await world.upstream.line()) ?? '')).toEqual(cancelled);
    await gateway.person.accept(url);
    expect(await nextAt(world)).toMatchObject({ at: 'client', method: 'notifications/elicitation/complete' });
    // By the time that another call has taken all steps, this one would have.
    world.client.send(callOf(2, 'delete', { path: `${path}/other` }));
    await listFor(world);
    await gateway.person.accept(await asked(world));
    await listFor(world);
    expect(await world.upstream.next()).toMatchObject({ id: 2 });
  });

  test.each([
    ['alone', alone],
    ['in a batch', [alone]],
  ])('%s, after the call has gone: the upstream is told, and the id is free again', async (_what, cancelled) => {
    await using world = await startAsking();
    await sent(world);
    world.client.send(cancelled);
    expect(JSON.parse((await world.upstream.line()) ?? '')).toEqual(cancelled);
    world.client.send(callOf(1, 'delete', { path: `${path}/other` }));
    await listFor(world);
    const methods = new Set([(await nextAt(world)).method, (await nextAt(world)).method]);
    expect(methods).toEqual(new Set(['notifications/elicitation/complete', 'elicitation/create']));
  });
});

test('an upstream that ends before its answer leaves an outcome that is unknown, and says so', async () => {
  await using world = await startAsking();
  await sent(world);
  world.crash();
  await world.client.next();
  const { id, result } = await world.client.next();
  expect({ id, isError: result.isError }).toEqual({ id: 1, isError: true });
  expect(result.content[0]?.text).toContain('unknown');
  expect(world.log.join()).toContain('outcome of a confirmed call unknown');
});

/** Everything that streams within this process can do without an event from outside. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
}

test('the outcome is unknown also if the upstream ends while it does not read', async () => {
  await using world = await startAsking();
  const { url, retry } = await firstRound(world, 1, { path });
  await gateway.person.accept(url);
  world.client.send(modern(2, { path }, retry));
  await listFor(world);
  const { id } = await world.upstream.next();
  world.client.send({ jsonrpc: '2.0', method: 'filler', params: { text: 'x'.repeat(1e6) } });
  await turns();
  world.upstream.send({ jsonrpc: '2.0', id, result: { tools: [DELETE] } });
  await turns();
  world.crash();
  const { result } = await world.client.next();
  expect(result.content[0]?.text).toContain('unknown');
});

describe('a confirmed call for which the upstream wants something first', () => {
  async function wanting(world: WireWorld) {
    const { url, retry } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    world.client.send(modern(2, { path }, retry));
    await listFor(world);
    await listFor(world);
    await world.upstream.next();
    const inputRequests = { own: { method: 'roots/list' } };
    world.upstream.send({
      jsonrpc: '2.0',
      id: 2,
      result: { resultType: 'input_required', inputRequests, requestState: 'of upstream' },
    });
    const { result } = await world.client.next();
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests });
    expect(result.requestState).not.toContain('of upstream');
    return { requestState: result.requestState, inputResponses: { own: { roots: [] } } };
  }

  test('goes on without another question, with the state of the upstream', async () => {
    await using world = await startAsking();
    const round = await wanting(world);
    world.client.send(modern(3, { path }, round));
    await listFor(world);
    expect(await world.upstream.next()).toEqual(modern(3, { path }, { ...round, requestState: 'of upstream' }));
  });

  test('goes on with a state that is an empty text', async () => {
    await using world = await startAsking();
    const { url, retry } = await firstRound(world, 1, { path });
    await gateway.person.accept(url);
    world.client.send(modern(2, { path }, retry));
    await listFor(world);
    await listFor(world);
    await world.upstream.next();
    const wanted = { resultType: 'input_required', requestState: '', inputRequests: { own: { method: 'roots/list' } } };
    world.upstream.send({ jsonrpc: '2.0', id: 2, result: wanted });
    const { requestState } = (await world.client.next()).result;
    world.client.send(modern(3, { path }, { requestState, inputResponses: { own: { roots: [] } } }));
    await listFor(world);
    expect(JSON.parse((await world.upstream.line()) ?? '')).toMatchObject({ id: 3, params: { requestState: '' } });
  });

  test('goes on once, and as the call that was confirmed', async () => {
    await using world = await startAsking();
    const round = await wanting(world);
    world.client.send(modern(3, { path: '/b' }, round));
    await listFor(world);
    expect(await nextAt(world)).toMatchObject({ at: 'client', id: 3, error: { code: -32602 } });
    world.client.send(modern(4, { path }, round));
    await listFor(world);
    await world.upstream.next();
    world.client.send(modern(5, { path }, round));
    await listFor(world);
    expect(await nextAt(world)).toMatchObject({ at: 'client', id: 5, error: { code: -32602 } });
  });
});

describe('an upstream', () => {
  test.each([
    ['with its id as another text', '{"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}'],
    ['in a batch', '[{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]'],
    ['beside a method', '{"jsonrpc":"2.0","id":1,"method":"x","result":{"content":[]}}'],
  ])('cannot answer a call that waits for a person %s', async (_what, text) => {
    await using world = await startAsking();
    await initialize(world);
    world.client.send(callOf(1, 'delete', { path }));
    await listFor(world);
    await asked(world);
    world.upstream.send(text);
    world.upstream.send({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    expect(await world.client.next()).toMatchObject({ method: 'notifications/message' });
  });

  test('cannot answer a call that waits for a person', async () => {
    await using world = await startAsking();
    await initialize(world);
    world.client.send(callOf(1, 'delete', { path }));
    await listFor(world);
    await asked(world);
    world.upstream.send({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } });
    world.upstream.send({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    expect(await world.client.next()).toMatchObject({ method: 'notifications/message' });
  });
});
