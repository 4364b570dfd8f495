import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Writable } from 'node:stream';
import { createRedisStores } from '@postern/store-redis';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from './config/load-config.ts';
import { startGateway } from './gateway.ts';
import { createLogger } from './logger.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis?.[Symbol.asyncDispose]());

/** Starts a gateway, asks whether it is ready, and returns what it has logged. */
async function linesOf(overrides: object): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  await using gateway = await startGateway(configOf(overrides), {
    logger: createLogger({ level: 'warn', destination }),
  });
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  return lines.map(line => JSON.parse(line) as Record<string, unknown>);
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
  // Whichever test comes first begins the deployment.
  return events.filter(event => event !== 'redis.first_start');
}

describe('a start that works but hardly as meant', () => {
  it('says that everybody shares the address of a proxy that is not trusted', async () => {
    expect(await warningsOf({})).toEqual(['proxy.not_trusted']);
  });

  it('says that the passkey can be got around in another currency', async () => {
    const payment = { maxAmount: { EUR: 100, USD: 100 }, passkeyAbove: { EUR: 50 } };
    const mcpServer = {
      ...{ id: 'tracker', name: 'Tracker', url: 'https://tracker.example/mcp', issuers: ['https://id.example'] },
      ...{ apiKeys: [{ hash: `sha256:${'0a'.repeat(32)}` }], payment },
    };
    const trustProxy = ['10.0.0.0/8'];
    expect(await warningsOf({ trustProxy, mcpServers: [mcpServer] })).toEqual(['payment.no_passkey']);
    const covered = { ...mcpServer, payment: { ...payment, passkeyAbove: { EUR: 50, USD: 50 } } };
    expect(await warningsOf({ trustProxy, mcpServers: [covered] })).toEqual([]);
  });

  it('S74: says which configured names people cannot see or tell apart, and starts all the same', async () => {
    const mcpServer = (id: string, name: string) => ({
      ...{ id, name, url: 'https://tracker.example/mcp', issuers: ['https://id.example'] },
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

  it('says nothing where the proxy is named', async () => {
    expect(await warningsOf({ trustProxy: ['127.0.0.1'] })).toEqual([]);
  });
});

describe('S79: where it listens', () => {
  const logger = createLogger({ level: 'silent' });

  it('is told as it is configured, not as this machine reaches it', async () => {
    await using gateway = await startGateway(configOf({ listen: { host: '0.0.0.0', port: 0 } }), { logger });
    expect(gateway.listening).toBe(`0.0.0.0:${new URL(gateway.address).port}`);
  });

  it.each(['listen', 'metrics'])(
    'a taken port is a sentence that names %s, and leaves nothing running',
    async member => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      await expect(startGateway(configOf({ [member]: { port } }), { logger })).rejects.toMatchObject({
        name: 'StartError',
        message: expect.stringMatching(new RegExp(`^${member}: .*127\\.0\\.0\\.1:${port} \\(EADDRINUSE\\)\\. \\w+`)),
      });
      taken.close();
      await expect.poll(async () => String(await redis.ask('CLIENT', 'LIST')).includes('name=postern')).toBe(false);
    },
  );

  it('a Redis that is not there is named before the start is given up', async () => {
    const late: unknown[] = [];
    const stores = createRedisStores({
      ...{ url: 'redis://user:secret@127.0.0.1:1', lateMs: 1, startTimeoutMs: 300 },
      onLate: found => late.push(found),
    });
    await expect(stores).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    expect(late).toEqual([{ addresses: ['127.0.0.1:1'], code: expect.stringMatching(/^\w+$/) }]);
  });
});
