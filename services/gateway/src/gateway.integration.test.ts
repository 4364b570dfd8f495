import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
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

async function warningsOf(overrides: object): Promise<unknown[]> {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const config = parseConfig({
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
  await using gateway = await startGateway(config, { logger: createLogger({ level: 'warn', destination }) });
  expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
  // Whichever test comes first begins the deployment.
  return lines
    .map(line => (JSON.parse(line) as { event: unknown }).event)
    .filter(event => event !== 'redis.first_start');
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
