import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { listenHttp } from '@postern/testkit/providers';
import { createRedisTls } from '@postern/testkit/redis';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { OutboundError } from './outbound-error.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import type { OutboundPolicy } from './outbound-policy.ts';

const tls = await createRedisTls();
/** Stands for every host on the Internet; its certificate is for `elsewhere.example`. */
let answer: (socket: TLSSocket) => void;
const { cert, key } = tls.misnamed;
const outside = createTlsServer({ cert: cert.pem, key: key.pem }, socket => {
  socket.on('error', () => undefined);
  socket.once('data', () => answer(socket));
}).listen(0, '127.0.0.1');
await once(outside, 'listening');

/** What the proxy was asked, and what it answers instead of connecting. */
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
  it('a request goes through it, by name, with its credentials', async () => {
    expect(await outcomeOf('https://elsewhere.example/')).toBe('reached');
    const authorization = `Basic ${Buffer.from('gate:p@ss').toString('base64')}`;
    expect(asked).toEqual([{ authority: 'elsewhere.example:443', authorization }]);
  });

  it('the certificate is that of the host, and its authority one of this machine or of `ca`', async () => {
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
  ])('S55: %s is blocked, and the proxy is not asked', async url => {
    expect(await outcomeOf(url)).toBe('outbound_blocked');
    expect(asked).toEqual([]);
  });

  it('S55: this machine and private hosts are reached without it, under the same checks', async () => {
    await using target = await listenHttp((_, response) => response.end('direct'));
    expect(await outcomeOf(`http://localhost:${target.port}/`, { allowLoopback: true })).toBe('direct');
    const policy = { privateHosts: ['id.corp.example'], resolve: async () => ['127.0.0.1'] };
    expect(await outcomeOf('https://id.corp.example/', policy)).toBe('outbound_blocked');
    expect(asked).toEqual([]);
  });

  it.each([
    [407, 'outbound_unreachable PROXY_HTTP_407'],
    [502, 'outbound_unreachable PROXY_HTTP_502'],
  ])('its refusal %i is named', async (status, outcome) => {
    refusal = status;
    expect(await outcomeOf('https://elsewhere.example/')).toBe(outcome);
  });

  it('a proxy that is not there, or does not answer, is named', async () => {
    const nobody = { proxy: 'http://127.0.0.1:1' };
    expect(await outcomeOf('https://elsewhere.example/', nobody)).toBe('outbound_unreachable PROXY_ECONNREFUSED');
    refusal = 'silence';
    expect(await outcomeOf('https://elsewhere.example/', { timeoutMs: 50 })).toMatch(/^outbound_timeout/);
  });

  it('S58: the size of an answer has the same limit', async () => {
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
