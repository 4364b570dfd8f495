import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type HttpListener, listenHttp } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { certificateOfNamedLocalhost, keyOfNamedLocalhost, testAuthority } from '../testing/tls-fixture.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { OutboundError, type OutboundPolicy } from './outbound-policy.ts';

/** Returns the error code of a guarded request, or `answered` if it succeeds. */
async function codeOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    if (error instanceof OutboundError) return error.code;
    throw error;
  }
  return 'answered';
}

function endless(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
  };
  response.on('drain', more);
  more();
}

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('.'), 10);
  response.on('close', () => clearInterval(timer));
}

async function fetchOnce(policy: Partial<OutboundPolicy>, url: string) {
  await using fetch = createOutboundFetch({ allowLoopback: false, ...policy });
  const response = await fetch(url);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

describe('S55: allowed destinations', () => {
  let target: HttpListener;
  let before: number;
  beforeAll(async () => {
    target = await listenHttp((_, response) => response.end('reached'));
  });
  beforeEach(() => {
    before = target.connections;
  });
  afterAll(() => target.close());

  it.each([
    'http://127.0.0.1:PORT/',
    'https://127.0.0.1:PORT/',
    'https://2130706433:PORT/',
    'https://0x7f000001:PORT/',
    'https://0177.0.0.1:PORT/',
    'https://127.1:PORT/',
    'https://localhost:PORT/',
    'https://localhost.:PORT/',
    'https://idp.localhost:PORT/',
    'https://0.0.0.0:PORT/',
    'https://[::1]:PORT/',
    'https://[::]:PORT/',
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://[::ffff:169.254.169.254]:PORT/',
    'https://[64:ff9b::7f00:1]:PORT/',
    'https://[2002:7f00:1::]:PORT/',
    'https://100.64.0.1:PORT/',
    'https://[fd00::8]:PORT/',
    'https://user:password@example.com:PORT/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:application/json,%7B%7D',
    'not a url',
  ])('N6: %s is blocked before any connection', async url => {
    const address = url.replace('PORT', String(target.port));
    const request = fetchOnce({ configuredHosts: [URL.parse(address)?.host ?? ''] }, address);
    expect(await codeOf(request)).toBe('outbound_blocked');
    expect(target.connections).toBe(before);
  });

  it.each([
    ['loopback', '127.0.0.1'],
    ['link-local', '169.254.169.254'],
    ['IPv6 loopback', '::1'],
  ])('blocks a %s address of a host that is configured as private', async (_, address) => {
    const policy = { privateHosts: [`id.corp.example:${target.port}`], resolve: async () => [address] };
    expect(await codeOf(fetchOnce(policy, `https://id.corp.example:${target.port}/`))).toBe('outbound_blocked');
    expect(target.connections).toBe(before);
  });

  it('blocks private addresses of all other hosts', async () => {
    const policy = {
      privateHosts: ['id.corp.example:8443'],
      configuredHosts: ['other.corp.example:8443', 'sub.id.corp.example:8443'],
      resolve: async () => ['10.0.0.1'],
    };
    for (const url of [
      'http://id.corp.example:8443/',
      'https://id.corp.example:9443/',
      'https://other.corp.example:8443/',
      'https://sub.id.corp.example:8443/',
    ]) {
      expect(await codeOf(fetchOnce(policy, url))).toBe('outbound_blocked');
    }
  });

  it.each([
    ['a private address', ['127.0.0.1']],
    ['a private address next to a public one', ['93.184.216.34', '127.0.0.1']],
    ['an IPv4-mapped loopback address', ['::ffff:127.0.0.1']],
    ['the cloud metadata address', ['169.254.169.254']],
    ['text that is not an address', ['localhost']],
  ])('N6: a name that resolves to %s is blocked before any connection', async (_, addresses) => {
    const policy = { configuredHosts: [`rebind.example:${target.port}`], resolve: async () => addresses };
    expect(await codeOf(fetchOnce(policy, `https://rebind.example:${target.port}/`))).toBe('outbound_blocked');
    expect(target.connections).toBe(before);
  });

  it('N6: blocks a public name that resolves to loopback, in development too', async () => {
    const policy = {
      allowLoopback: true,
      configuredHosts: [`rebind.example:${target.port}`],
      resolve: async () => ['127.0.0.1'],
    };
    expect(await codeOf(fetchOnce(policy, `https://rebind.example:${target.port}/`))).toBe('outbound_blocked');
    expect(await codeOf(fetchOnce(policy, `http://rebind.example:${target.port}/`))).toBe('outbound_blocked');
    expect(await codeOf(fetchOnce(policy, `http://localhost.:${target.port}/`))).toBe('outbound_blocked');
    expect(target.connections).toBe(before);
  });

  it('N6: blocks a loopback name that resolves to another address', async () => {
    const policy = { allowLoopback: true, resolve: async () => ['127.0.0.1', '192.168.0.1'] };
    expect(await codeOf(fetchOnce(policy, `http://app.localhost:${target.port}/`))).toBe('outbound_blocked');
    expect(target.connections).toBe(before);
  });

  it('S55: allows a port other than 443 only at the host that is configured with it', async () => {
    const resolve = async () => [];
    expect(await codeOf(fetchOnce({ resolve }, 'https://example.com:8443/'))).toBe('outbound_blocked');
    const policy = { resolve, configuredHosts: ['example.com:8443'] };
    expect(await codeOf(fetchOnce(policy, 'https://example.com:8443/'))).toBe('outbound_unreachable');
    for (const url of ['https://example.com:9443/', 'https://other.example:8443/'])
      expect(await codeOf(fetchOnce(policy, url))).toBe('outbound_blocked');
  });

  it('S57: allows http only to loopback hosts', async () => {
    expect(await codeOf(fetchOnce({ allowLoopback: true }, 'http://example.com/'))).toBe('outbound_blocked');
  });

  it('reaches loopback hosts in development, on any port', async () => {
    expect(await fetchOnce({ allowLoopback: true }, `http://localhost:${target.port}/`)).toMatchObject({
      status: 200,
      text: 'reached',
    });
    expect(target.connections).toBe(before + 1);
  });
});

describe('S55: DNS', () => {
  it('N6: connects to exactly the checked address, without a second DNS request', async () => {
    await using checked = await listenHttp((_, response) => response.end('checked'), { address: '127.0.0.2' });
    await using other = await listenHttp((_, response) => response.end('other'), { port: checked.port });
    let answers = 0;
    const resolve = async () => {
      answers += 1;
      return answers === 1 ? ['127.0.0.2'] : ['127.0.0.1'];
    };
    const answer = await fetchOnce({ allowLoopback: true, resolve }, `http://app.localhost:${checked.port}/`);
    expect(answer.text).toBe('checked');
    expect({ answers, other: other.connections }).toEqual({ answers: 1, other: 0 });
  });

  it('N6: tries the next address when one is unreachable', async () => {
    await using target = await listenHttp((_, response) => response.end('reached'));
    const resolve = async () => ['127.0.0.3', '127.0.0.1'];
    const answer = await fetchOnce({ allowLoopback: true, resolve }, `http://app.localhost:${target.port}/`);
    expect(answer.text).toBe('reached');
  });

  it('N6: reports NXDOMAIN as unreachable', async () => {
    const resolve = () => Promise.reject(new Error('getaddrinfo ENOTFOUND no.example'));
    expect(await codeOf(fetchOnce({ resolve }, 'https://no.example/'))).toBe('outbound_unreachable');
  });

  it('N6: slow DNS counts towards the timeout', async () => {
    const resolve = () => new Promise<never>(() => {});
    expect(await codeOf(fetchOnce({ resolve, timeoutMs: 20 }, 'https://slow.example/'))).toBe('outbound_timeout');
  });
});

describe('S57: TLS', () => {
  const trusted = getCACertificates('default');
  const httpsServer = createServer({ cert: certificateOfNamedLocalhost, key: keyOfNamedLocalhost }, (_, response) =>
    response.end('encrypted'),
  );
  beforeAll(() => new Promise<void>(resolve => httpsServer.listen(0, '127.0.0.1', resolve)));
  afterEach(() => setDefaultCACertificates(trusted));
  afterAll(() => new Promise(resolve => httpsServer.close(resolve)));

  const request = (host: string) => {
    const { port } = httpsServer.address() as AddressInfo;
    return fetchOnce({ allowLoopback: true, resolve: async () => ['127.0.0.1'] }, `https://${host}:${port}/`);
  };

  it('refuses a certificate from an unknown authority', async () => {
    expect(await codeOf(request('named.localhost'))).toBe('outbound_unreachable');
  });

  it('checks the certificate against the name in the URL, not against the resolved address', async () => {
    setDefaultCACertificates([...trusted, testAuthority]);
    expect((await request('named.localhost')).text).toBe('encrypted');
    expect(await codeOf(request('other.localhost'))).toBe('outbound_unreachable');
    expect(await codeOf(request('127.0.0.1'))).toBe('outbound_unreachable');
  });
});

describe('S55: allowed responses', () => {
  const local = { allowLoopback: true };

  it.each([301, 302, 303, 307, 308])('reports a %i as an error and does not follow it', async status => {
    await using inside = await listenHttp((_, response) => response.end('inside'));
    await using target = await listenHttp((_, response) =>
      response.writeHead(status, { location: `http://localhost:${inside.port}/` }).end(),
    );
    expect(await codeOf(fetchOnce(local, `http://localhost:${target.port}/`))).toBe('outbound_redirect');
    expect(inside.connections).toBe(0);
  });

  it('aborts an endless body', async () => {
    let sent = 0;
    await using target = await listenHttp((_, response) => {
      const chunk = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', more);
      more();
    });
    expect(await codeOf(fetchOnce(local, `http://localhost:${target.port}/`))).toBe('outbound_too_large');
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it('counts bytes after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    await using target = await listenHttp((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(await codeOf(fetchOnce(local, `http://localhost:${target.port}/`))).toBe('outbound_too_large');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['that is small', response => response.end('done')],
    ['that never ends', response => endless(response)],
    ['that drips', response => void drip(response)],
    ['that breaks off', response => response.write('.', () => response.destroy())],
  ])('discardBody: returns the status and discards a body %s', async (_, send) => {
    await using target = await listenHttp((_, response) => {
      response.writeHead(503, { 'retry-after': '7' });
      send(response);
    });
    await using fetch = createOutboundFetch({ ...local, maxBytes: 65_536 });
    const response = await fetch(`http://localhost:${target.port}/`, { method: 'POST', body: 'x', discardBody: true });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.text()).toBe('');
  });

  it('discardBody: does not wait for the timeout if the body stops', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<string>();
    await using target = await listenHttp((_, response) => {
      response.on('close', () => resolve('closed')).writeHead(200, { 'content-length': '10000000' });
      response.write(Buffer.alloc(1000));
    });
    await using fetch = createOutboundFetch({ ...local, timeoutMs: 60_000 });
    const response = fetch(`http://localhost:${target.port}/`, { discardBody: true });
    const late = delay(4_000, 'late', { ref: false });
    expect(await Promise.race([response.then(({ status }) => status), late])).toBe(200);
    expect(await Promise.race([closed, late])).toBe('closed');
  });

  it('decompresses the response', async () => {
    await using target = await listenHttp((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain')),
    );
    const answer = await fetchOnce(local, `http://localhost:${target.port}/`);
    expect(answer.text).toBe('plain');
    expect(answer.headers.has('content-encoding')).toBe(false);
  });

  it.each([
    ['never responds', () => {}],
    ['stops in the middle of the body', (response: { write(text: string): unknown }) => response.write('{')],
  ])('times out when the host %s', async (_, answer) => {
    await using target = await listenHttp((_request, response) => void answer(response));
    const policy = { ...local, timeoutMs: 100 };
    expect(await codeOf(fetchOnce(policy, `http://localhost:${target.port}/`))).toBe('outbound_timeout');
  });

  it('reports a broken connection', async () => {
    await using target = await listenHttp(request => request.socket.destroy());
    expect(await codeOf(fetchOnce(local, `http://localhost:${target.port}/`))).toBe('outbound_unreachable');
  });

  it('S53: an error contains the host, but neither path, query, headers nor body', async () => {
    await using target = await listenHttp(request => request.socket.destroy());
    await using fetch = createOutboundFetch(local);
    const error: unknown = await fetch(`http://localhost:${target.port}/canary-path?code=canary-code`, {
      method: 'POST',
      headers: { authorization: 'Bearer canary-token' },
      body: new URLSearchParams({ code: 'canary-body' }),
    }).catch((thrown: unknown) => thrown);
    const printed = inspect(error, { depth: 10, showHidden: true });
    expect(printed).toContain(`localhost:${target.port}`);
    expect(printed).not.toContain('canary');
  });
});

describe('isInside', () => {
  it.each([
    ['https://id.corp.example/token', true],
    ['https://id.corp.example:9443/token', true],
    ['https://ID.corp.example', true],
    ['https://git.corp.example:8443', true],
    ['https://localhost/', true],
    ['http://127.0.0.1:1/', true],
    ['https://other.corp.example', false],
    ['https://id.corp.example.evil.example', false],
    ['https://as.example', false],
    ['no URL', false],
  ])('T48: %s: %s', async (url, expected) => {
    const privateHosts = ['id.corp.example', 'git.corp.example:8443'];
    await using fetch = createOutboundFetch({ allowLoopback: false, privateHosts });
    expect(fetch.isInside(url)).toBe(expected);
  });
});
