import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { closeListener } from './stopping.ts';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

/** A server that responds when the test tells it to, and callers with keep-alive connections. */
async function createStage() {
  const pending: { request: IncomingMessage; response: ServerResponse }[] = [];
  const arrivals = new Set<() => void>();
  const httpServer = createServer((request, response) => {
    pending.push({ request, response });
    for (const arrival of arrivals) arrival();
  }).listen(0, '127.0.0.1');
  cleanUp.push(() => httpServer.closeAllConnections());
  await once(httpServer, 'listening');
  const { port } = httpServer.address() as AddressInfo;

  async function arrived(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => void (pending.length >= count && resolve());
    arrivals.add(check);
    check();
    await promise;
  }
  async function caller() {
    const socket: Socket = connect(port, '127.0.0.1');
    cleanUp.push(() => socket.destroy());
    let heard = '';
    socket.setEncoding('utf8').on('data', text => {
      heard += text;
    });
    const over = new Promise<void>(resolve => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return {
      ask: () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      over,
      heard: () => heard,
      answered: async (times: number) => {
        while (heard.split('HTTP/1.1 200').length <= times) await once(socket, 'data');
      },
    };
  }
  return { httpServer, port, pending, arrived, caller };
}

/** A stage with a caller that has its response and whose connection is still open. */
async function createIdleStage() {
  const stage = await createStage();
  const idle = await stage.caller();
  idle.ask();
  await stage.arrived(1);
  stage.pending[0]?.response.end('first');
  await idle.answered(1);
  return { ...stage, idle };
}

const answerLast = (_request: IncomingMessage, response: ServerResponse) =>
  response.setHeader('connection', 'close').end('last');

/** Longer than any test. */
const LONG = 600_000;

describe('closing a listener', () => {
  it('refuses new connections and finishes in-flight requests', async () => {
    const { httpServer, port, pending, arrived, caller } = await createStage();
    const busy = await caller();
    busy.ask();
    await arrived(1);
    const { promise: deaf, resolve: onDeaf } = Promise.withResolvers<void>();
    const closing = closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf });
    await deaf;
    const [refused] = (await once(connect(port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException];
    expect(refused.code).toBe('ECONNREFUSED');
    pending[0]?.response.setHeader('connection', 'close').end('done');
    await busy.over;
    expect(busy.heard()).toContain('done');
    expect(await closing).toBe(0);
  });

  it('closes idle connections immediately if lingerMs is 0', async () => {
    const { httpServer, idle } = await createIdleStage();
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf: () => undefined })).toBe(0);
    await idle.over;
  });

  it('responds to a request that arrives on an idle connection while it lingers', async () => {
    const { httpServer, pending, arrived, idle } = await createIdleStage();
    const closing = closeListener(httpServer, { lingerMs: LONG, finishMs: LONG, onDeaf: () => undefined });
    idle.ask();
    await arrived(2);
    pending[1]?.response.setHeader('connection', 'close').end('second');
    // All connections are closed, so closing does not wait longer.
    expect(await closing).toBe(0);
    await idle.over;
    expect(idle.heard()).toContain('second');
  });

  it('S80: responds to a request that reaches an idle connection before it is closed', async () => {
    const { httpServer, idle } = await createIdleStage();
    httpServer.on('request', answerLast);
    const onDeaf = () => void idle.ask();
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf })).toBe(0);
    await idle.over;
    expect(idle.heard()).toContain('last');
  });

  it('S80: responds to the connections in the backlog before the listener closes', async () => {
    const { httpServer, port } = await createStage();
    httpServer.on('request', answerLast);
    const heard = Array.from({ length: 20 }, () => {
      const socket = connect(port, '127.0.0.1');
      cleanUp.push(() => socket.destroy());
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      return text(socket).catch((error: NodeJS.ErrnoException) => error.code);
    });
    // Sockets connect in the next tick, and the system completes them immediately. The listener has accepted none of them yet.
    await new Promise<void>(resolve => process.nextTick(resolve));
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf: () => undefined })).toBe(0);
    for (const answer of await Promise.all(heard)) expect(answer).toContain('last');
  });

  it('S80: responds to a connection that arrives while the last request is served', async () => {
    const { httpServer, port, caller } = await createStage();
    const heard: Promise<string | undefined>[] = [];
    const connectNext = () => {
      const socket = connect(port, '127.0.0.1');
      cleanUp.push(() => socket.destroy());
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      heard.push(text(socket).catch((error: NodeJS.ErrnoException) => error.code));
    };
    httpServer.on('request', (request, response) => {
      if (heard.length < 4) connectNext();
      // The turn that serves a request accepts no connection. Only its length shows that it was not quiet.
      const began = performance.now();
      while (performance.now() - began < 1);
      answerLast(request, response);
    });
    const first = await caller();
    first.ask();
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf: () => undefined })).toBe(0);
    expect(heard).toHaveLength(4);
    for (const answer of await Promise.all(heard)) expect(answer).toContain('last');
  });

  it('aborts and counts requests that do not finish in time', async () => {
    const { httpServer, arrived, caller } = await createStage();
    const stuck = [await caller(), await caller()];
    for (const each of stuck) each.ask();
    await arrived(2);
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: 1, onDeaf: () => undefined })).toBe(2);
    for (const each of stuck) await each.over;
  });

  it('resolves for a server that never listened', async () => {
    let deaf = 0;
    const onDeaf = () => {
      deaf += 1;
    };
    expect(await closeListener(createServer(), { lingerMs: LONG, finishMs: LONG, onDeaf })).toBe(0);
    expect(deaf).toBe(1);
  });
});
