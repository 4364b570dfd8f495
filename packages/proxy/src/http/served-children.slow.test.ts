import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestGateway } from '@postern/mcp/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRules, upstreamSchema } from '../config.ts';
import { ACCEPT, Events } from '../testing/http-world.ts';
import { callOf, startGateway, type WireMessage } from '../testing/wire-world.ts';
import { HttpProxy, type HttpProxyOptions } from './http-proxy.ts';

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startGateway();
  folder = await mkdtemp(join(tmpdir(), 'postern-proxy-'));
  await writeFile(join(folder, 'server.mjs'), SERVER);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** A yes that no call takes is for the next equal call, so each test has a file of its own. */
let path: string;
beforeEach(({ task }) => {
  path = `/${task.id}`;
});

/** A server that tells which process answers, and what it has got. */
const SERVER = `
import { createInterface } from 'node:readline';
const say = message => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
let calls = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'exit') process.exit(0);
  if (method === 'deaf') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  for (let n = 0; method === 'flood' && n < 400; n += 1)
    say({ method: 'notifications/message', params: { text: 'x'.repeat(64 * 1024) } });
  if (method === 'notify') say({ method: 'notifications/message', params: { text: 'to all' } });
  const progressToken = params?._meta?.progressToken;
  if (progressToken !== undefined) say({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
  if (method === 'tools/call') calls += 1;
  const tools = [{ name: 'delete', inputSchema: { type: 'object' } }];
  if (id !== undefined) say({ id, result: { pid: process.pid, line, calls, tools, env: process.env } });
}`;

const people: Readonly<Record<string, string>> = { alice: 'test-user', bob: 'bob' };

async function startChildren(p: { admission?: HttpProxyOptions['admission']; program?: string } = {}) {
  const { subject, ...gate } = gateway.options;
  const rules = await createRules(upstreamSchema.parse({ command: ['node'] }));
  const auth: HttpProxyOptions['admission'] = {
    auth: {
      resource: 'http://127.0.0.1/files',
      authorizationServers: ['https://id.example'],
      verifyToken: token => {
        const extra = { iss: subject?.issuer, sub: people[token] };
        return extra.sub === undefined ? undefined : { token, clientId: 'host', scopes: [], extra };
      },
    },
  };
  const log: string[] = [];
  const proxy = new HttpProxy({
    upstreams: {
      files: {
        command: process.execPath,
        args: [p.program ?? join(folder, 'server.mjs')],
        env: { NAME: 'value' },
        rules,
      },
    },
    gate: { ...gate, check: false, onBackgroundError() {} },
    admission: p.admission ?? auth,
    log: () => event => log.push(event),
  });
  const url = `http://127.0.0.1:${await proxy.listen(0, '127.0.0.1')}/files`;
  const send = (message: object, headers: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { ...ACCEPT, ...headers }, body: JSON.stringify(message, undefined, 2) });
  async function open(name: string) {
    const authorization = `Bearer ${name}`;
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { url: {} } },
      clientInfo: { name: 'host', version: '1' },
    };
    const response = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, { authorization });
    expect(response.status).toBe(200);
    const headers = { authorization, 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' };
    return { headers, first: (await response.json()) as Reply };
  }
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= proxy.close();
    return closed;
  };
  return { url, send, open, log, [Symbol.asyncDispose]: close };
}

type Reply = WireMessage & {
  readonly result: { readonly pid: number; readonly line: string; readonly calls: number; readonly env: object };
};
const ask = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });

describe('S267: programs behind HTTP', () => {
  test('each session has its own, with the environment of the file only', async () => {
    await using it = await startChildren();
    const [alice, bob, again] = await Promise.all([it.open('alice'), it.open('bob'), it.open('alice')]);
    expect(new Set([alice, bob, again].map(({ first }) => first.result.pid)).size).toBe(3);
    expect(alice.first.result.env).toEqual({ NAME: 'value' });
    const other = await it.send(ask(1, 'x'), { ...alice.headers, authorization: bob.headers.authorization });
    expect(other.status).toBe(404);
    const own = await it.send(ask(1, 'x'), alice.headers);
    expect(((await own.json()) as Reply).result.pid).toBe(alice.first.result.pid);
  });

  test('get a message on one line, and tell progress in the stream of its request', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const events = new Events(await it.send(ask(1, 'x', { _meta: { progressToken: 'p' }, n: 1 }), headers));
    expect((await events.next()).method).toBe('notifications/progress');
    const { result } = (await events.next()) as Reply;
    expect(JSON.parse(result.line)).toEqual(ask(1, 'x', { _meta: { progressToken: 'p' }, n: 1 }));
  });

  test('tell what belongs to no request when its MCP client listens', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    for (let round = 0; round < 3; round += 1)
      expect((await it.send({ jsonrpc: '2.0', method: 'notify' }, headers)).status).toBe(202);
    await delay(200);
    const events = new Events(await fetch(it.url, { headers: { ...headers, accept: 'text/event-stream' } }));
    for (let round = 0; round < 3; round += 1) expect((await events.next()).method).toBe('notifications/message');
  });

  test('S260: get a call of a guarded tool after the yes, and once', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const events = new Events(await it.send(callOf(1, 'delete', { path }), headers));
    const { id, method, params } = await events.next();
    expect(method).toBe('elicitation/create');
    expect((await it.send({ jsonrpc: '2.0', id, result: { action: 'accept' } }, headers)).status).toBe(202);
    await gateway.person.accept(params.url);
    const answer = await answerIn(events);
    expect(answer.result.calls).toBe(1);
    const bob = await it.open('bob');
    const theirs = new Events(await it.send(callOf(1, 'delete', { path }), bob.headers));
    expect((await theirs.next()).method).toBe('elicitation/create');
    // The proxy stops, and waits for nobody.
    await it[Symbol.asyncDispose]();
    expect((await answerIn(theirs)).error.code).toBe(-32603);
  });

  test('that end leave an error, and an unknown session', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const ended = await it.send(ask(1, 'exit'), headers);
    expect(((await ended.json()) as Reply).error.code).toBe(-32603);
    expect((await it.send(ask(2, 'x'), headers)).status).toBe(404);
    const { first } = await it.open('alice');
    expect(first.result.pid).toBeGreaterThan(0);
  });

  test('end with their session', async () => {
    await using it = await startChildren();
    const { headers, first } = await it.open('alice');
    expect((await fetch(it.url, { method: 'DELETE', headers })).status).toBe(200);
    expect(() => process.kill(first.result.pid, 0)).toThrow();
    expect((await it.send(ask(1, 'x'), headers)).status).toBe(404);
  });

  test('are bounded for each person: an unused one makes room for the next', async () => {
    await using it = await startChildren();
    const opened = await Promise.all(Array.from({ length: 10 }, () => it.open('alice')));
    const last = await it.open('alice');
    const alive = [...opened, last].filter(({ first: { result } }) => isAlive(result.pid));
    expect([alive.length, alive.at(-1) === last]).toEqual([10, true]);
    for (const { headers } of alive) {
      const { status } = await fetch(it.url, { headers: { ...headers, accept: 'text/event-stream' } });
      expect(status).toBe(200);
    }
    const refused = await it.send(ask(0, 'initialize'), { authorization: 'Bearer alice' });
    expect(refused.status).toBe(503);
    await it.open('bob');
  });

  test('are bounded for each person, who opens many at once', async () => {
    await using it = await startChildren();
    const opened = await Promise.all(
      Array.from({ length: 12 }, () => it.send(ask(0, 'initialize'), { authorization: 'Bearer alice' })),
    );
    const answers = await Promise.all(opened.map(response => response.json() as Promise<Reply>));
    expect(answers.filter(({ result }) => result !== undefined && isAlive(result.pid))).toHaveLength(10);
  });

  test('end although their MCP client does not read', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const sent = request(it.url, { method: 'POST', headers: { ...ACCEPT, ...headers } });
    sent.end(JSON.stringify(ask(1, 'flood')));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    expect((await fetch(it.url, { method: 'DELETE', headers })).status).toBe(200);
    response.destroy();
  });

  test('that do not read get no more than they can hold', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const send = async (method: string) =>
      (await it.send({ jsonrpc: '2.0', method, params: { x: 'x'.repeat(2 * 1024 * 1024) } }, headers)).status;
    const statuses = [await send('deaf')];
    for (let round = 0; round < 8; round += 1) statuses.push(await send('x'));
    expect([statuses[0], statuses.at(-1)]).toEqual([202, 503]);
  });

  test('that end before the body of a request leave an unknown session', async () => {
    await using it = await startChildren();
    const { headers } = await it.open('alice');
    const sent = request(it.url, { method: 'POST', headers: { ...ACCEPT, ...headers } });
    const answered = once(sent, 'response');
    sent.write('{');
    // The proxy has the first part of the body.
    await (await it.send(ask(1, 'x'), headers)).json();
    expect((await fetch(it.url, { method: 'DELETE', headers })).status).toBe(200);
    sent.end('"jsonrpc":"2.0","id":2,"method":"x"}');
    const [response] = (await answered) as [IncomingMessage];
    expect(response.resume().statusCode).toBe(404);
  });

  test('that fail are not started again and again', async () => {
    await using it = await startChildren({ program: join(folder, 'none.mjs') });
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1)
      statuses.push((await it.send(ask(0, 'initialize'), { authorization: 'Bearer alice' })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 503]);
  });

  test('need a session', async () => {
    await using it = await startChildren();
    const headers = { authorization: 'Bearer alice' };
    expect((await it.send(ask(1, 'tools/list'), headers)).status).toBe(400);
    expect((await fetch(it.url, { headers })).status).toBe(400);
  });
});

/** The response, behind the notice that the question is over. */
async function answerIn(events: Events): Promise<Reply> {
  const message = (await events.next()) as Reply;
  return message.method === undefined ? message : await answerIn(events);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
