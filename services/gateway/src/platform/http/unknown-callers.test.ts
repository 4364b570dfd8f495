import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { identified, networkOf, SERVER_OPTIONS, UnidentifiedBytes } from './unknown-callers.ts';

const MEBIBYTE = 1024 * 1024;
const PIPELINED = 4;

let budget: UnidentifiedBytes;
let server: Server;
let evicted: number;
const clients: Socket[] = [];
let arrived: { readonly request: IncomingMessage; readonly response: ServerResponse }[];
let onArrival: () => unknown;

beforeEach(async () => {
  // Only the tests sweep.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  evicted = 0;
  arrived = [];
  onArrival = () => {};
  budget = new UnidentifiedBytes(() => (evicted += 1));
  server = createServer(SERVER_OPTIONS);
  budget.guard(server, {
    pipelined: PIPELINED,
    addressOf: ({ headers }) => String(headers['x-from'] ?? '192.0.2.1'),
    onRequest: (request, response) => {
      arrived.push({ request, response });
      onArrival();
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  server.close();
  budget[Symbol.dispose]();
  vi.useRealTimers();
});

async function open(): Promise<Socket> {
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => client.destroy()).resume();
  clients.push(client);
  await accepted;
  return client;
}

const head = (from: string, bytes: number) =>
  `POST / HTTP/1.1\r\nhost: a\r\nx-from: ${from}\r\ncontent-length: ${bytes}\r\n\r\n`;

/** Sends a request whose body never arrives. */
async function send(from: string, bytes: number): Promise<Socket> {
  const client = await open();
  const { promise, resolve } = Promise.withResolvers<void>();
  onArrival = resolve;
  client.write(head(from, bytes));
  // A request that exceeds the budget by itself never arrives.
  await Promise.race([promise, closed(client)]);
  return client;
}
const identify = (n: number, kind: 'person' | 'caller' = 'caller') =>
  identified({ raw: arrived[n]?.request as IncomingMessage }, { kind, id: 'alice' });
/** Not `once`, which a reset would reject. */
const closed = (client: Socket) =>
  new Promise<void>(resolve => (client.closed ? resolve() : client.once('close', () => resolve())));

describe('S200: what the gateway holds for callers that it does not know', () => {
  it('closes a connection with more pipelined requests than its share, without handing them on', async () => {
    const client = await open();
    client.write(head('192.0.2.1', 0).repeat(PIPELINED + 1_000));
    await expect.poll(() => evicted, { timeout: 2_000 }).toBe(1);
    await closed(client);
    expect(arrived).toHaveLength(PIPELINED);
    expect(budget.bytes).toBe(0);
  });

  it.each([
    ['without a host', '', 400],
    ['with an unknown expectation', 'host: a\r\nexpect: a\r\n', 417],
  ])('counts requests %s, which Node refuses without an event', async (_what, headers, status) => {
    const refused = `GET / HTTP/1.1\r\n${headers}\r\n`;
    const client = await open();
    const answered = once(client, 'data');
    client.write(refused);
    expect(String(await answered)).toContain(`HTTP/1.1 ${status} `);
    // Behind a request without a response.
    (await send('192.0.2.1', 0)).write(refused.repeat(PIPELINED));
    await expect.poll(() => evicted, { timeout: 2_000 }).toBe(1);
    expect(arrived).toHaveLength(1);
    expect(budget.bytes).toBe(0);
  });

  it('closes the oldest connection of an address that exceeds its share, and no other', async () => {
    const [other, oldest] = [await send('192.0.2.2', 400_000), await send('192.0.2.1', 400_000)];
    for (let n = 0; n < 41; n += 1) await send('192.0.2.1', 400_000);
    expect(evicted).toBe(1);
    await closed(oldest);
    await send('192.0.2.1', 400_000);
    expect(evicted).toBe(2);
    expect(other.closed).toBe(false);
    expect(budget.bytes).toBeLessThan(17 * MEBIBYTE);
  });

  it('closes no connection that waits for the gateway while others wait for their callers', async () => {
    const whole = await send('192.0.2.1', 0);
    const half = await send('192.0.2.1', 400_000);
    for (let n = 0; n < 41; n += 1) await send('192.0.2.1', 400_000);
    await closed(half);
    expect(whole.closed).toBe(false);
    // A response that its caller does not read waits for the caller.
    whole.pause();
    arrived[0]?.response.end(Buffer.alloc(12 * MEBIBYTE));
    await closed(whole.resume());
  });

  it.each([
    ['chunks', 'transfer-encoding: chunked', (count: number) => '1\r\nx\r\n'.repeat(count)],
    ['bytes of a declared length', 'content-length: 50000', (count: number) => 'x'.repeat(count)],
  ])('counts the pieces of a body as they arrive: %s', async (_what, header, pieces) => {
    let most = 0;
    const client = await open();
    client.setNoDelay().write(`POST / HTTP/1.1\r\nhost: a\r\nx-from: 192.0.2.1\r\n${header}\r\n\r\n`);
    await expect.poll(() => arrived.length, { timeout: 2_000 }).toBe(1);
    const before = budget.bytes;
    arrived[0]?.request.on('data', () => {
      most = Math.max(most, budget.bytes);
    });
    for (let n = 0; n < 640; n += 1) {
      client.write(pieces(1));
      await new Promise(resolve => setImmediate(resolve));
    }
    await expect.poll(() => most - before, { timeout: 5_000 }).toBeGreaterThan(50_000);
    expect(evicted).toBe(0);
  });

  it('S232: closes a connection whose body has too many pieces, and reads no more of its packet', async () => {
    const client = await open();
    let read = 0;
    onArrival = () => arrived[0]?.request.on('data', () => (read += 1));
    client.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(5_000)}`);
    await expect.poll(() => evicted, { timeout: 2_000 }).toBe(1);
    expect(read).toBe(1_024);
    await expect.poll(() => budget.bytes).toBe(0);
    // Node uses the parser of a closed connection again.
    const next = await open();
    onArrival = () => arrived[1]?.request.on('data', () => (read += 1));
    next.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`);
    await expect.poll(() => arrived[1]?.request.readableEnded, { timeout: 2_000 }).toBe(true);
    expect(read).toBe(1_025);
  });

  it('S232: keeps no body of a request that has none by its method, while its response waits', async () => {
    const client = await open();
    client.write(`GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 30000\r\n\r\n${'x'.repeat(30_000)}`);
    await expect.poll(() => arrived[0]?.request.readableEnded, { timeout: 2_000 }).toBe(true);
    expect(arrived[0]?.request.readableLength).toBe(0);
  });

  it('closes the oldest of all connections if all addresses exceed the budget, but none of a known caller', async () => {
    const known = await send('192.0.2.250', 400_000);
    identify(0);
    const oldest = await send('192.0.2.251', 400_000);
    for (let n = 0; n < 166; n += 1) await send(`192.0.2.${n % 200}`, 400_000);
    expect(evicted).toBeGreaterThan(0);
    await closed(oldest);
    expect(budget.bytes).toBeLessThanOrEqual(64 * MEBIBYTE);
    expect(budget.bytes).toBeGreaterThan(60 * MEBIBYTE);
    expect(known.closed).toBe(false);
  });

  it('charges a signed-in person instead of the address', async () => {
    const clients: Socket[] = [];
    for (let n = 0; n < 42; n += 1) {
      clients.push(await send(`192.0.2.${n}`, 400_000));
      identify(n, 'person');
    }
    await closed(clients[0] as Socket);
    expect(evicted).toBe(1);
    expect(budget.bytes).toBe(0);
  });

  it('counts a response that its caller does not read, and forgets one that was read', async () => {
    const client = await open();
    client.pause();
    const { promise, resolve } = Promise.withResolvers<void>();
    onArrival = resolve;
    client.write(head('192.0.2.1', 0));
    await promise;
    arrived[0]?.response.end(Buffer.alloc(12 * MEBIBYTE));
    expect(budget.bytes).toBeGreaterThan(4 * MEBIBYTE);
    client.resume();
    await once(arrived[0]?.response as ServerResponse, 'close');
    expect(budget.bytes).toBe(0);
    expect(evicted).toBe(0);
  });

  it('S232: closes a connection whose caller does not read its response within a minute', async () => {
    const client = await open();
    client.pause();
    client.write(head('192.0.2.1', 0).repeat(2));
    await expect.poll(() => arrived.length, { timeout: 2_000 }).toBe(2);
    arrived[0]?.response.end(Buffer.alloc(12 * MEBIBYTE));
    vi.advanceTimersByTime(59_000);
    expect(evicted).toBe(0);
    vi.advanceTimersByTime(2_000);
    expect(evicted).toBe(1);
    await closed(client.resume());
  });

  it('S232: charges a known caller for what waits behind a request, and for what it does not read', async () => {
    const connections = 40;
    const clients: Socket[] = [];
    for (let n = 0; n < connections; n += 1) {
      const client = await open();
      const { promise, resolve } = Promise.withResolvers<void>();
      onArrival = () => arrived.length === PIPELINED * (n + 1) && resolve();
      client.write(head('192.0.2.1', 0).repeat(PIPELINED));
      await promise;
      // Requests at the front, such as waiting reads, have limits of their own.
      for (let each = 0; each < PIPELINED; each += 1) identify(PIPELINED * n + each);
      clients.push(client);
    }
    expect({ evicted, strangers: budget.bytes }).toEqual({ evicted: 0, strangers: 0 });
    const refusal = Buffer.alloc(512 * 1024);
    for (const [n, { response }] of arrived.entries()) if (n % PIPELINED === 1) response.end(refusal);
    budget.sweep();
    const spared = clients.length - evicted;
    expect(evicted).toBeGreaterThan(5);
    expect(spared * (refusal.length + 3 * 8 * 1024)).toBeLessThan(16 * MEBIBYTE);
    await closed(clients[0] as Socket);
    expect(clients.at(-1)?.closed).toBe(false);
    // A response that its caller does not read counts too.
    clients.at(-1)?.pause();
    const before = evicted;
    arrived.at(-PIPELINED)?.response.end(Buffer.alloc(17 * MEBIBYTE));
    expect(evicted).toBeGreaterThan(before);
  });

  it('S233: makes room for a connection by closing the oldest idle one of a stranger', async () => {
    server.maxConnections = 4;
    const known = await send('192.0.2.1', 0);
    identify(0);
    arrived[0]?.response.end();
    const busy = await send('192.0.2.2', 0);
    const [idle, newer] = [await open(), await open()];
    expect(evicted).toBe(1);
    await closed(idle);
    const last = await open();
    await send('192.0.2.3', 0);
    expect({ evicted, served: arrived.length }).toEqual({ evicted: 3, served: 3 });
    await Promise.all([newer, last].map(closed));
    expect([known, busy].map(({ closed }) => closed)).toEqual([false, false]);
  });

  it('S233: makes room by closing the idle connection of a known caller, which anyone may become', async () => {
    server.maxConnections = 3;
    const idle = await send('192.0.2.1', 0);
    identify(0);
    arrived[0]?.response.end();
    await send('192.0.2.2', 0);
    await send('192.0.2.3', 0);
    expect(evicted).toBe(1);
    await closed(idle);
    expect(arrived).toHaveLength(3);
  });

  it('counts incomplete headers and connections that stay silent, but no new connection', async () => {
    const client = await open();
    budget.sweep();
    expect(budget.bytes).toBe(0);
    budget.sweep();
    const silent = budget.bytes;
    expect(silent).toBeGreaterThan(1_000);
    client.write(`GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(1_000)}`);
    const swept = () => {
      budget.sweep();
      return budget.bytes;
    };
    await expect.poll(swept, { timeout: 2_000 }).toBeGreaterThan(silent + 50_000);
    client.destroy();
    await expect.poll(() => budget.bytes).toBe(0);
  });

  it('counts of an idle connection on which a caller was identified only what it sends', async () => {
    const client = await open();
    const { promise, resolve } = Promise.withResolvers<void>();
    onArrival = resolve;
    client.write(head('192.0.2.1', 0));
    await promise;
    const { response } = arrived[0] as (typeof arrived)[number];
    identify(0);
    response.end();
    await once(response, 'close');
    for (let n = 0; n < 3; n += 1) budget.sweep();
    expect(budget.bytes).toBe(0);
    client.write('GET / HTTP/1.1\r\na: b');
    await expect.poll(() => budget.bytes, { timeout: 2_000 }).toBeGreaterThan(8_000);
  });
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
  ['[2001:db8::1]', '2001:db8:0:0::/64'],
  // NAT64: two callers of one prefix.
  ['64:ff9b::c000:201', '192.0.2.1'],
  ['64:ff9b::c633:6401', '198.51.100.1'],
  // Whatever a caller invents is one network.
  ['unknown', 'unknown'],
  ['192.0.2.1:4711:1', 'unknown'],
  ['[192.0.2.999]:1', 'unknown'],
  ['', 'unknown'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
