import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { closeListener } from './close-listener.ts';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

/** A server whose answers are given by the test, and callers that keep their connections. */
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

/** The same with one caller who has been answered, and whose connection is open still. */
async function createIdleStage() {
  const stage = await createStage();
  const idle = await stage.caller();
  idle.ask();
  await stage.arrived(1);
  stage.pending[0]?.response.end('first');
  await idle.answered(1);
  return { ...stage, idle };
}

/** So long that nothing ends by it. */
const LONG = 600_000;

describe('closing a listener', () => {
  it('nobody can connect any more, and what is under way finishes', async () => {
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

  it('idle connections are ended at once without a linger', async () => {
    const { httpServer, idle } = await createIdleStage();
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: LONG, onDeaf: () => undefined })).toBe(0);
    await idle.over;
  });

  it('a request that was on its way on an idle connection is answered', async () => {
    const { httpServer, pending, arrived, idle } = await createIdleStage();
    const closing = closeListener(httpServer, { lingerMs: LONG, finishMs: LONG, onDeaf: () => undefined });
    idle.ask();
    await arrived(2);
    pending[1]?.response.setHeader('connection', 'close').end('second');
    // The last connection has gone: nobody is waited for.
    expect(await closing).toBe(0);
    await idle.over;
    expect(idle.heard()).toContain('second');
  });

  it('what does not finish in time is cut, and counted', async () => {
    const { httpServer, arrived, caller } = await createStage();
    const stuck = [await caller(), await caller()];
    for (const each of stuck) each.ask();
    await arrived(2);
    expect(await closeListener(httpServer, { lingerMs: 0, finishMs: 1, onDeaf: () => undefined })).toBe(2);
    for (const each of stuck) await each.over;
  });

  it('one that never listened is closed', async () => {
    let deaf = 0;
    const onDeaf = () => {
      deaf += 1;
    };
    expect(await closeListener(createServer(), { lingerMs: LONG, finishMs: LONG, onDeaf })).toBe(0);
    expect(deaf).toBe(1);
  });
});
