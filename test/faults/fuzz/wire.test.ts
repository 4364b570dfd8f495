import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendBytes } from '../../support/raw-http.ts';
import { keyOf, startWorld, type World } from '../../support/world.ts';
import { changesBetween, closeDumps, dumpQuickly } from './dump.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ logLevel: 'warn' });
});
afterAll(async () => {
  closeDumps();
  await world?.[Symbol.asyncDispose]();
});

const address = () => world.gateways[0]?.address ?? '';
const authorization = `Authorization: Bearer ${keyOf('tracker')}`;
const lines = (...all: string[]) => [...all, '', ''].join('\r\n');
const chunked = '5\r\nhello\r\n0\r\n\r\n';
const issue = (...headers: string[]) =>
  lines('POST /v1/elicitations HTTP/1.1', 'Host: x', authorization, 'Content-Type: application/json', ...headers);

/** A second request behind the first one. A response to it proves request smuggling. */
const smuggled = lines('GET /livez HTTP/1.1', 'Host: smuggled');

/** Bytes to send, and the allowed statuses. A connection closed without a response is not allowed. */
const bytes: Readonly<Record<string, readonly [text: string, ...statuses: number[]]>> = {
  'Content-Length beside Transfer-Encoding': [
    `${issue('Content-Length: 4', 'Transfer-Encoding: chunked')}${chunked}${smuggled}`,
    400,
  ],
  'Transfer-Encoding beside Content-Length': [
    `${issue('Transfer-Encoding: chunked', 'Content-Length: 4')}${chunked}${smuggled}`,
    400,
  ],
  'two Content-Lengths': [`${issue('Content-Length: 2', 'Content-Length: 44')}{}${smuggled}`, 400],
  'a list of Content-Lengths': [`${issue('Content-Length: 2, 2')}{}`, 400],
  'a negative Content-Length': [`${issue('Content-Length: -1')}{}`, 400],
  'a Content-Length beyond numbers': [`${issue('Content-Length: 99999999999999999999999')}{}`, 400],
  'an unknown Transfer-Encoding': [`${issue('Transfer-Encoding: cow')}{}`, 400],
  'Transfer-Encoding twice': [`${issue('Transfer-Encoding: chunked', 'Transfer-Encoding: identity')}${chunked}`, 400],
  'a space before the colon': [`${issue('Transfer-Encoding : chunked')}${chunked}`, 400],
  'a folded header': [`${issue('X-A: b', ' Transfer-Encoding: chunked')}`, 400],
  'a chunk size that is none': [`${issue('Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`, 400],
  'a chunk size beyond numbers': [
    `${issue('Transfer-Encoding: chunked')}ffffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
    400,
    413,
  ],
  'a line feed alone': ['GET /livez HTTP/1.1\nHost: x\n\n', 400],
  'a NUL in a header': [lines('GET /livez HTTP/1.1', 'Host: x', 'X-A: a\0b'), 400],
  'a line end in a header': [lines('GET /livez HTTP/1.1', 'Host: x', 'X-A: a\rX-B: c'), 400],
  'a header without a name': [lines('GET /livez HTTP/1.1', 'Host: x', ': x'), 400],
  'no Host': [lines('GET /livez HTTP/1.1'), 400],
  'a flood of headers': [
    lines('GET /livez HTTP/1.1', 'Host: x', ...Array.from({ length: 3_000 }, (_, n) => `X-${n}: y`)),
    431,
  ],
  'one header that is too long': [lines('GET /livez HTTP/1.1', 'Host: x', `X-A: ${'a'.repeat(40_000)}`), 431],
  'a request line that is too long': [lines(`GET /${'a'.repeat(40_000)} HTTP/1.1`, 'Host: x'), 400, 414, 431],
  'an unknown method': [lines('FOO /livez HTTP/1.1', 'Host: x'), 400],
  'another protocol': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505],
  'HTTP/9.9': [lines('GET /livez HTTP/9.9', 'Host: x'), 400, 505],
  'a TLS hello': ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  CONNECT: [lines('CONNECT evil.example:443 HTTP/1.1', 'Host: x'), 0, 400, 404, 405],
  'an upgrade': [lines('GET /v1/events HTTP/1.1', 'Host: x', 'Connection: Upgrade, close', 'Upgrade: websocket'), 401],
};

describe('S44, S46: malformed HTTP on the wire', () => {
  it.each(Object.entries(bytes))('%s', async (_, [text, ...statuses]) => {
    const before = await dumpQuickly(world.redis.url);
    const answer = await sendBytes(address(), text);
    expect(statuses).toContain(answer.status);
    // The gateway does not read the rest of the connection after a refusal.
    expect(answer.text.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(answer.text).not.toMatch(/\n\s+at |node:internal|\.ts:\d/);
    expect(changesBetween(before, await dumpQuickly(world.redis.url), Date.now())).toEqual([]);
    expect(world.log()).not.toContain('http.surprise');
  });

  it('a client abort in the middle of a body is not logged as a surprise', async () => {
    const form = lines(
      'POST /logout HTTP/1.1',
      'Host: x',
      'Content-Type: application/x-www-form-urlencoded',
      'Content-Length: 9',
    );
    for (const text of [`${issue('Content-Length: 9')}{`, `${form}a=`]) {
      const { hostname, port } = new URL(address());
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.end(text);
      await once(socket.resume(), 'close');
    }
    // The gateway responds to this request after it has handled the aborted ones.
    expect((await fetch(`${address()}/livez`)).status).toBe(200);
    expect(world.log()).not.toContain('http.surprise');
  });

  it('slowloris: hundreds of unfinished headers do not block other callers', async () => {
    using slow = openSlowly();
    await slow.opened;
    for (let n = 0; n < 20; n += 1) expect((await fetch(`${address()}/livez`)).status).toBe(200);
  });

  // Node checks every 30 seconds (the limits themselves: test/api/limits.test.ts).
  it.runIf(process.env['FUZZ_SLOWLORIS'] === '1')(
    'slowloris: the gateway ends connections with unfinished headers',
    async () => {
      using slow = openSlowly();
      await slow.ended;
      expect((await fetch(`${address()}/livez`)).status).toBe(200);
    },
  );
});

/** Opens connections that send a header each second and never the last one. */
function openSlowly(): Disposable & { readonly opened: Promise<unknown>; readonly ended: Promise<unknown> } {
  const { hostname, port } = new URL(address());
  const sockets = Array.from({ length: 300 }, () => connect(Number(port), hostname));
  const opened = Promise.all(sockets.map(socket => once(socket, 'connect')));
  const ended = Promise.all(sockets.map(socket => once(socket.resume(), 'close')));
  for (const socket of sockets) {
    socket.on('error', () => socket.destroy());
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('X-A: b\r\n');
  }, 1_000);
  return {
    opened,
    ended,
    [Symbol.dispose]() {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    },
  };
}
