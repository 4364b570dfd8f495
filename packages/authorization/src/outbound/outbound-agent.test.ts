import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { FLOOD_BYTES, floods, startAnsweringMachine } from '@postern/testkit/any-answer';
import { listenHttp } from '@postern/testkit/providers';
import { createRedisTls } from '@postern/testkit/redis';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from './outbound-fetch.ts';
import { OutboundError, type OutboundPolicy } from './outbound-policy.ts';

const tls = await createRedisTls();
/** Plays every host on the Internet. Its certificate is for `elsewhere.example`. */
let answer: (socket: TLSSocket) => void;
const { cert, key } = tls.misnamed;
const outside = createTlsServer({ cert: cert.pem, key: key.pem }, socket => {
  socket.on('error', () => undefined);
  socket.once('data', () => answer(socket));
}).listen(0, '127.0.0.1');
await once(outside, 'listening');

/** The requests to the proxy, and its response instead of a connection. */
const asked: { authority: string | undefined; authorization: string | undefined }[] = [];
let refusal: number | 'silence' | undefined;
const sockets = new Set<Socket>();
const proxyServer = createHttpServer().on('connect', (request, socket: Socket, head: Buffer) => {
  asked.push({ authority: request.url, authorization: request.headers['proxy-authorization'] });
  sockets.add(socket.on('error', () => undefined));
  if (refusal === 'silence') return;
  if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`);
  const far = connect((outside.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connected\r\n\r\n');
    far.write(head);
    far.pipe(socket).pipe(far);
  });
  sockets.add(far.on('error', () => socket.destroy()));
});
proxyServer.listen(0, '127.0.0.1');
await once(proxyServer, 'listening');
const proxy = `http://gate:p%40ss@127.0.0.1:${(proxyServer.address() as AddressInfo).port}`;

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of [proxyServer, outside]) await new Promise(resolve => server.close(resolve));
  await tls[Symbol.asyncDispose]();
});
beforeEach(() => {
  asked.length = 0;
  refusal = undefined;
  answer = socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nreached');
});

async function outcomeOf(url: string, policy: Partial<OutboundPolicy> = {}) {
  await using fetch = createOutboundFetch({ allowLoopback: false, proxy, ca: tls.ca.pem, ...policy });
  try {
    return await (await fetch(url)).text();
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return [error.code, error.systemCode].filter(code => code !== undefined).join(' ');
  }
}

describe('S79: behind a proxy', () => {
  it('a request goes through the proxy, with the host name and the credentials of the proxy', async () => {
    expect(await outcomeOf('https://elsewhere.example/')).toBe('reached');
    const authorization = `Basic ${Buffer.from('gate:p@ss').toString('base64')}`;
    expect(asked).toEqual([{ authority: 'elsewhere.example:443', authorization }]);
  });

  it('the certificate must match the host and come from an authority of this machine or of `ca`', async () => {
    await using fetch = createOutboundFetch({ allowLoopback: false, proxy });
    await expect(fetch('https://elsewhere.example/')).rejects.toMatchObject({
      code: 'outbound_unreachable',
      systemCode: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
    expect(await outcomeOf('https://other.example/')).toBe('outbound_unreachable ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it.each([
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://[::1]/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://metadata/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://nas.home.arpa/',
    'https://elsewhere.example:8443/',
    'http://elsewhere.example/',
  ])('S55: %s is blocked without a request to the proxy', async url => {
    expect(await outcomeOf(url)).toBe('outbound_blocked');
    expect(asked).toEqual([]);
  });

  it('S55: requests to this machine and to private hosts bypass the proxy and pass the same checks', async () => {
    await using target = await listenHttp((_, response) => response.end('direct'));
    expect(await outcomeOf(`http://localhost:${target.port}/`, { allowLoopback: true })).toBe('direct');
    const policy = { privateHosts: ['id.corp.example'], resolve: async () => ['127.0.0.1'] };
    expect(await outcomeOf('https://id.corp.example/', policy)).toBe('outbound_blocked');
    expect(asked).toEqual([]);
  });

  it.each([
    [407, 'outbound_unreachable PROXY_HTTP_407'],
    [502, 'outbound_unreachable PROXY_HTTP_502'],
  ])('the error names the status %i of the proxy', async (status, outcome) => {
    refusal = status;
    expect(await outcomeOf('https://elsewhere.example/')).toBe(outcome);
  });

  it('the error says that the proxy is unreachable or does not respond', async () => {
    const refused = { proxy: 'http://127.0.0.1:1' };
    expect(await outcomeOf('https://elsewhere.example/', refused)).toBe('outbound_unreachable PROXY_ECONNREFUSED');
    refusal = 'silence';
    expect(await outcomeOf('https://elsewhere.example/', { timeoutMs: 50 })).toMatch(/^outbound_timeout/);
  });

  it('S58: a response through the proxy has the same size limit', async () => {
    answer = socket => {
      const more = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)));
      };
      socket.on('drain', more);
      more();
    };
    expect(await outcomeOf('https://elsewhere.example/', { maxBytes: 1024, timeoutMs: 3_000 })).toBe(
      'outbound_too_large',
    );
  });
});

/** At most the number of bytes that fit into the buffers of both sockets. */
const smallPart: unknown = expect.toSatisfy((sent: number) => sent < FLOOD_BYTES / 2);

it.each([false, true])(
  'S55: reads a small part of every flood, then disconnects (discardBody: %s)',
  async discardBody => {
    await using machine = await startAnsweringMachine();
    await using fetch = createOutboundFetch({ allowLoopback: true });
    for (const [name, damage] of Object.entries(floods)) {
      using order = machine.answer(() => true, damage);
      const outcome = await fetch(`http://localhost:${machine.port}`, { discardBody }).then(
        () => 'read',
        (error: { code?: string }) => error.code,
      );
      expect({ name, outcome }).toEqual({
        name,
        outcome: expect.stringMatching(
          discardBody ? /^(read|outbound_\w+)$/ : /^outbound_(too_large|redirect|unreachable)$/,
        ),
      });
      expect({ name, sent: await order.floods() }).toEqual({ name, sent: [smallPart] });
    }
  },
);

it('counts the bytes of each response separately on a reused connection', async () => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true, maxBytes: 100_000 });
  machine.behind(() => ({ status: 200, headers: {}, body: Buffer.alloc(90_000, 0x20) }));
  for (let at = 0; at < 20; at += 1) {
    const outcome = await fetch(`http://localhost:${machine.port}`).then(
      async response => (await response.text()).length,
      (error: { code?: string }) => error.code,
    );
    expect(outcome).toBe(90_000);
  }
  expect(machine.connections).toBeLessThan(5);
});
