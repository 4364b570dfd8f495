import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayConfigInput } from '@postern/gateway';
import { freePort } from '@postern/testkit/processes';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keyOf } from '../support/api.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { hashOf } from '../support/world-config.ts';

const MEBIBYTE = 1024 * 1024;
/** Of the process, at its peak. */
const MOST = 400 * MEBIBYTE;
/** Of the control group: the kernel ends the process beyond it. Contains its socket buffers and pages of files too. */
const LIMIT = 640 * MEBIBYTE;
/** Memory controller of control groups, version 1 or 2, where this user may create a group. */
const groups = [
  { parent: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  { parent: '/sys/fs/cgroup', limit: 'memory.max' },
];

let redis: RedisServer;
let gateway: GatewayProcess;
let group: string | undefined;
const sockets = new Set<Socket>();
const ports = { console: 0, admin: 0, metrics: 0 };
const issuer = 'http://127.0.0.1:9';
const unknown = `el_00${'c'.repeat(43)}`;

beforeAll(async () => {
  redis = await startRedis();
  for (const name of ['console', 'admin', 'metrics'] as const) ports[name] = await freePort();
  group = limitedGroup();
  const enter = group === undefined ? [] : ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh'];
  gateway = await startGatewayProcess(config(), { launcher: enter, onLine: () => {} });
}, 60_000);
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  if (group !== undefined) rmdirSync(group);
});

function limitedGroup(): string | undefined {
  for (const { parent, limit } of groups) {
    const path = `${parent}/postern-floods-${process.pid}`;
    try {
      mkdirSync(path);
      if (!existsSync(`${path}/${limit}`)) throw new Error('no memory controller');
      writeFileSync(`${path}/${limit}`, String(LIMIT));
      return path;
    } catch {
      if (existsSync(path)) rmdirSync(path);
    }
  }
  return undefined;
}

function config(): GatewayConfigInput {
  return {
    publicUrl: 'http://localhost:7',
    listen: { host: '127.0.0.1', port: 0 },
    metrics: { port: ports.metrics },
    console: {
      publicUrl: 'http://127.0.0.1:7',
      listen: { port: ports.console },
      identityProvider: { issuer, clientId: 'console', clientSecret: 'console-secret' },
      roles: { claim: 'groups', viewer: ['staff'] },
    },
    adminApi: { port: ports.admin },
    redis: { url: redis.url },
    vault: { keys: [{ kid: 'test', key: randomBytes(32).toString('base64') }] },
    identityProviders: [{ name: 'id', displayName: 'ID', issuer, clientId: 'postern', clientSecret: 'login-secret' }],
    processors: [
      {
        name: 'stripe-main',
        type: 'stripe',
        secretKey: 'sk_test_0123456789abcdef01234567',
        webhookSecrets: [`whsec_${'A'.repeat(32)}`],
      },
    ],
    mcpServers: ['tracker', 'other'].map(id => ({
      id,
      name: `Name of ${id}`,
      url: 'http://localhost:7001/mcp',
      apiKeys: [{ hash: hashOf(keyOf(id)) }],
      providers: [],
      issuers: [issuer],
    })),
  };
}

interface Size {
  readonly connections: number;
  readonly addresses: number;
  /** Writes only once all are open, so that one turn of the event loop of the gateway reads from all. */
  readonly isAtOnce?: boolean;
}

/** Opens connections from different loopback addresses, and writes to each. They never read. */
async function flood(p: Size & { readonly port: number; readonly bytes: () => Buffer }): Promise<void> {
  const bytes = p.bytes();
  const opened: Socket[] = [];
  for (let n = 0; n < p.connections; n += 1) {
    const localAddress = `127.0.1.${1 + (n % p.addresses)}`;
    const socket = connect({ port: p.port, host: '127.0.0.1', localAddress });
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.pause();
    opened.push(socket);
    if (p.isAtOnce !== true) socket.write(bytes);
    if (n % 200 === 199) await delay(20);
  }
  if (p.isAtOnce !== true) return;
  await Promise.all(opened.map(socket => (socket.connecting ? once(socket, 'connect') : undefined)));
  for (const socket of opened) socket.write(bytes);
}

/** Requests of known callers, which must be answered. */
async function isServed(): Promise<boolean> {
  const api = await fetch(`${gateway.address}/v1/elicitations/${unknown}`, {
    headers: { authorization: `Bearer ${keyOf('other')}` },
  });
  await api.text();
  return api.status === 404;
}

const peak = () => 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]);
const publicPort = () => Number(new URL(gateway.address).port);
const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'host: gate.example', ...headers].join('\r\n')}\r\n`;

const pipelined = () => Buffer.from(`${head('GET /nowhere')}\r\n`.repeat((6 * MEBIBYTE) / 45));
/** Node answers these by itself, unless told otherwise. */
const hostless = () => Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat((4 * MEBIBYTE) / 18));
const expecting = () => Buffer.from(`${head('GET /nowhere', 'expect: a')}\r\n`.repeat((4 * MEBIBYTE) / 56));
const halfWebhook = () =>
  Buffer.concat([
    Buffer.from(`${head('POST /webhooks/stripe-main', 'content-length: 262144')}\r\n`),
    Buffer.alloc(255 * 1024, 'x'),
  ]);
const tinyChunksOf = (count: number, line: string, ...headers: string[]) =>
  Buffer.from(`${head(line, ...headers, 'transfer-encoding: chunked')}\r\n${'1\r\nx\r\n'.repeat(count)}`);
const tinyChunks = () => tinyChunksOf(200_000, 'POST /webhooks/stripe-main');
const tinyChunksForPage = () =>
  tinyChunksOf(200_000, 'GET /me', `cookie: __Host-postern_session=bs_00${'c'.repeat(43)}`);
const form = 'content-type: application/x-www-form-urlencoded';
const tinyChunksOfLogout = () => tinyChunksOf(20_000, 'POST /login/back-channel-logout/id', form);
const tinyChunksOfConsoleLogout = () => tinyChunksOf(20_000, 'POST /login/back-channel-logout/console', form);
const authorized = `authorization: Bearer ${keyOf('tracker')}`;
const tinyChunksOfKey = () =>
  tinyChunksOf(65_000, 'POST /v1/elicitations', authorized, 'content-type: application/json');
const behindStream = () =>
  Buffer.from(
    `${head('GET /v1/events', authorized)}\r\n${`${head(`GET /v1/elicitations/${unknown}`, authorized)}\r\n`.repeat(62)}`,
  );
const unread = () => Buffer.from(`${head('GET /openapi.json')}\r\n`.repeat(16));
const halfHeader = () => Buffer.from(head('GET /', ...Array.from({ length: 2_500 }, () => 'a: b')));
const unknownJson = () =>
  Buffer.from(
    `${head('POST /nowhere', 'content-type: application/json', 'content-length: 60000')}\r\n[${'[],'.repeat(19_000)}`,
  );

const attacks = [
  ['pipelined requests', pipelined, { connections: 100, addresses: 1 }],
  ['requests without a host', hostless, { connections: 100, addresses: 1 }],
  ['requests with an unknown expectation', expecting, { connections: 100, addresses: 1 }],
  ['half webhooks of one address', halfWebhook, { connections: 1_000, addresses: 1 }],
  ['half webhooks of many addresses', halfWebhook, { connections: 3_500, addresses: 200 }],
  ['webhooks in chunks of one byte', tinyChunks, { connections: 200, addresses: 100 }],
  ['chunks of one byte for a page', tinyChunksForPage, { connections: 200, addresses: 100 }],
  ['responses that nobody reads', unread, { connections: 3_000, addresses: 200 }],
  ['headers without an end', halfHeader, { connections: 3_000, addresses: 200 }],
  ['JSON for unknown paths', unknownJson, { connections: 2_000, addresses: 200 }],
  ['logout tokens in chunks of one byte', tinyChunksOfLogout, { connections: 400, addresses: 8, isAtOnce: true }],
  ['webhooks in chunks, all at once', tinyChunks, { connections: 400, addresses: 8, isAtOnce: true }],
  ['an API key with bodies in chunks of one byte', tinyChunksOfKey, { connections: 60, addresses: 1, isAtOnce: true }],
  ['an API key with requests behind event streams', behindStream, { connections: 1_000, addresses: 1 }],
  ['silent connections', () => Buffer.from('G'), { connections: 9_000, addresses: 200 }],
] as const;

describe('S200 S232: a flood of strangers, or with one API key, whose responses and requests would fill memory', () => {
  it.each(attacks)(
    'by %s leaves the gateway below 400 MB, and answers known callers',
    async (_name, bytes, size) => {
      const began = performance.now();
      const flooding = flood({ port: publicPort(), ...size, bytes });
      const served = (async () => {
        let count = 0;
        // Overload protection may shed some.
        while (count < 3 || performance.now() - began < 2_000) if (await isServed()) count += 1;
        return count;
      })();
      await flooding;
      const count = await served;
      expect(count).toBeGreaterThanOrEqual(3);
      expect(peak()).toBeLessThan(MOST);
    },
    60_000,
  );

  it.each(['console', 'admin', 'metrics'] as const)(
    'by pipelined requests and half headers, on the listener %s',
    async name => {
      for (const bytes of [pipelined, halfHeader, unread, tinyChunksOfConsoleLogout])
        await flood({ port: ports[name], connections: 100, addresses: 50, bytes });
      await expect.poll(isServed, { timeout: 30_000 }).toBe(true);
      expect(peak()).toBeLessThan(MOST);
    },
    60_000,
  );
});
