import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createRedisStores } from '@postern/store-redis';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from './gateway.ts';
import { parseConfig } from './platform/config/load-config.ts';
import { recordLog } from './testing/record-log.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.[Symbol.asyncDispose]());

/** Starts a gateway, waits until it is ready, and returns its log. */
async function linesOf(overrides: object): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { logger, lines } = recordLog('warn');
  await using gateway = await startGateway(configOf(overrides), { logger });
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  return lines();
}

const configOf = (overrides: object) =>
  parseConfig({
    publicUrl: 'https://gate.example',
    listen: { port: 0 },
    redis: { url: redis.url },
    vault: { keys: [{ kid: 'test', key: randomBytes(32).toString('base64') }] },
    identityProviders: [{ name: 'id', issuer: 'https://id.example', clientId: 'postern', clientSecret: 'secret' }],
    mcpServers: [
      {
        id: 'tracker',
        name: 'Tracker',
        url: 'https://tracker.example/mcp',
        apiKeys: [{ hash: `sha256:${'0a'.repeat(32)}` }],
        issuers: ['https://id.example'],
      },
    ],
    ...overrides,
  });

async function warningsOf(overrides: object): Promise<unknown[]> {
  const events = (await linesOf(overrides)).map(({ event }) => event);
  // The first test begins the deployment.
  return events.filter(event => event !== 'redis.first_start');
}

describe('start-up with a risky configuration', () => {
  it('warns that all users share the rate limit of an untrusted proxy', async () => {
    expect(await warningsOf({})).toEqual(['proxy.not_trusted']);
  });

  it('warns about currencies without a passkey threshold', async () => {
    const payment = { maxAmount: { EUR: 100, USD: 100 }, passkeyAbove: { EUR: 50 } };
    const mcpServer = {
      id: 'tracker',
      name: 'Tracker',
      url: 'https://tracker.example/mcp',
      issuers: ['https://id.example'],
      apiKeys: [{ hash: `sha256:${'0a'.repeat(32)}` }],
      payment,
    };
    const trustProxy = ['10.0.0.0/8'];
    expect(await warningsOf({ trustProxy, mcpServers: [mcpServer] })).toEqual(['payment.no_passkey']);
    const covered = { ...mcpServer, payment: { ...payment, passkeyAbove: { EUR: 50, USD: 50 } } };
    expect(await warningsOf({ trustProxy, mcpServers: [covered] })).toEqual([]);
  });

  it('S89: warns about currencies without a daily limit', async () => {
    const payment = { maxAmount: { EUR: 100, USD: 100 }, perPersonAndDay: { EUR: { max: 100 } } };
    const mcpServer = {
      id: 'tracker',
      name: 'Tracker',
      url: 'https://tracker.example/mcp',
      issuers: ['https://id.example'],
      apiKeys: [{ hash: `sha256:${'0a'.repeat(32)}` }],
      payment,
    };
    const trustProxy = ['10.0.0.0/8'];
    expect(await warningsOf({ trustProxy, mcpServers: [mcpServer] })).toEqual(['payment.no_daily_limit']);
    const perPersonAndDay = { EUR: { max: 100 }, USD: { max: 100 } };
    const covered = { ...mcpServer, payment: { ...payment, perPersonAndDay } };
    expect(await warningsOf({ trustProxy, mcpServers: [covered] })).toEqual([]);
  });

  it('S74: warns about configured names with invisible or confusable characters, and starts', async () => {
    const mcpServer = (id: string, name: string) => ({
      id,
      name,
      url: 'https://tracker.example/mcp',
      issuers: ['https://id.example'],
      apiKeys: [{ hash: `sha256:${id.repeat(64)}` }],
    });
    const trustProxy = ['10.0.0.0/8'];
    const mcpServers = [mcpServer('a', 'Tracker'), mcpServer('b', 'Тracker'), mcpServer('c', 'Cal\u2800endar')];
    expect(await warningsOf({ trustProxy, mcpServers })).toEqual([
      'name.confusable',
      'name.not_plain',
      'name.confusable',
      'name.not_plain',
    ]);
  });

  it('start-up with a risky configuration does not warn if the proxy is trusted', async () => {
    expect(await warningsOf({ trustProxy: ['127.0.0.1'] })).toEqual([]);
  });
});

describe('S79: the listen address', () => {
  const { logger } = recordLog('silent');

  it('the listen address is reported as configured, not as this machine reaches it', async () => {
    await using gateway = await startGateway(configOf({ listen: { host: '0.0.0.0', port: 0 } }), { logger });
    expect(gateway.listening).toBe(`0.0.0.0:${new URL(gateway.address).port}`);
  });

  it.each(['listen', 'metrics'])('explains a taken port of %s, and leaves nothing running', async member => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(startGateway(configOf({ [member]: { port } }), { logger })).rejects.toMatchObject({
      name: 'StartError',
      message: expect.stringMatching(new RegExp(`^${member}: .*127\\.0\\.0\\.1:${port} \\(EADDRINUSE\\)\\. \\w+`)),
    });
    taken.close();
    await expect.poll(async () => String(await redis.ask('CLIENT', 'LIST')).includes('name=postern')).toBe(false);
  });

  it('logs an unreachable Redis before start-up fails', async () => {
    const late: unknown[] = [];
    const stores = createRedisStores({
      url: 'redis://user:secret@127.0.0.1:1',
      lateMs: 1,
      startTimeoutMs: 300,
      onLate: found => late.push(found),
    });
    await expect(stores).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    expect(late).toEqual([{ addresses: ['127.0.0.1:1'], code: expect.stringMatching(/^\w+$/) }]);
  });
});
