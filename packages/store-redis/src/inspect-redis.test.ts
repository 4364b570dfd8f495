import { readFileSync } from 'node:fs';
import { inFull } from '@postern/testkit/in-full';
import { type RedisAccess, type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspectRedis } from './index.ts';
import { gatewayCommands } from './inspect-redis.ts';

const shipped = readFileSync(new URL('../../../infra/redis/users.acl', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('user '))
  .map(line => line.replace(/\$\{\w+\}/, 'test-password'));
const gatewayRules = shipped.find(line => line.startsWith('user postern '))?.split(' ') ?? [];
const accessOf = (change: (line: string) => string): RedisAccess => ({
  lines: shipped.map(line => (line.startsWith('user postern ') ? change(line) : line)),
  user: { name: 'postern', password: 'test-password' },
});

test('knows the commands of the shipped user', () => {
  const allowed = gatewayRules.filter(rule => rule.startsWith('+')).map(rule => rule.slice(1));
  expect([...gatewayCommands].sort()).toEqual(allowed.sort());
});

describe('a fit Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({ access: accessOf(line => line) });
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  test('S99: has no faults, and keeps nothing of the inspection', async () => {
    expect(await inspectRedis({ url: redis.url })).toEqual({
      version: expect.stringMatching(/^\d+\./),
      unsafe: undefined,
      warnings: [],
      appendfsync: 'everysec',
      refusals: [],
      memoryUsed: expect.any(Number),
      deniedCommands: [],
      clockLeadMs: expect.any(Number),
    });
    expect((await redis.ask('KEYS', '*')).trim()).toBe('');
  });

  test('refuses a wrong password', async () => {
    const url = new URL(redis.url);
    url.password = 'wrong';
    await expect(inspectRedis({ url: url.href })).rejects.toMatchObject({
      code: 'store_unavailable',
      cause: { code: 'WRONGPASS' },
    });
  });
});

test.each([
  ['-hset', ['hset']],
  ['-bzpopmin', ['bzpopmin']],
  ['-config|get', ['config|get']],
  ['-rename', ['rename']],
  ['-eval -xadd', ['eval']],
])('names the commands that the user may not run after %s', async (rule, denied) => {
  await using redis = await startRedis({ access: accessOf(line => `${line} ${rule}`) });
  expect((await inspectRedis({ url: redis.url, assumeDurable: true })).deniedCommands).toEqual(denied);
});

test('names all writes of a user that may only read, and the refused probe', async () => {
  await using redis = await startRedis({ access: accessOf(line => `${line} -@write`) });
  const { deniedCommands, refusals } = await inspectRedis({ url: redis.url });
  expect(refusals).toEqual(['NOPERM']);
  expect(deniedCommands).toEqual(expect.arrayContaining(['set', 'hset', 'xadd', 'zadd', 'del']));
  expect(deniedCommands).not.toContain('hget');
});

test.each([
  ['other keys', '~postern:*', '~other:*', 'eval'],
  ['no channel', '&postern:wake', 'resetchannels', 'publish'],
])('names the commands that a user with %s may not run', async (_, from, to, command) => {
  await using redis = await startRedis({ access: accessOf(line => line.replace(from, to)) });
  expect((await inspectRedis({ url: redis.url })).deniedCommands).toContain(command);
});

test.each([
  ['appendonly', { appendonly: 'no' as const }],
  ['maxmemory-policy', { args: ['--maxmemory-policy', 'allkeys-lru'] }],
  ['appendfsync', { args: ['--appendfsync', 'no'] }],
])('reports an unsafe setting: %s', async (setting, options) => {
  await using redis = await startRedis(options);
  expect((await inspectRedis({ url: redis.url })).unsafe).toMatchObject({ setting });
});

test('reports a Redis that is full, and one without a limit', async () => {
  await using redis = await startRedis({ args: ['--maxmemory', '100kb'] });
  const full = await inspectRedis({ url: redis.url });
  expect(full).toMatchObject({ refusals: ['OOM'] });
  expect(full.memoryUsed).toBeGreaterThan(0.9);
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  expect(await inspectRedis({ url: redis.url })).toMatchObject({ warnings: ['maxmemory'], memoryUsed: undefined });
});

test('ends in bounded time if Redis accepts connections and never responds', async () => {
  await using redis = await startRedis();
  redis.suspend();
  await expect(inspectRedis({ url: redis.url, timeoutMs: 100 })).rejects.toMatchObject({ code: 'store_unavailable' });
  redis.resume();
});

inFull.it('inspects every master of a cluster', async () => {
  await using cluster = await startRedisCluster();
  expect(await inspectRedis({ nodes: cluster.urls })).toMatchObject({
    unsafe: undefined,
    refusals: [],
    deniedCommands: [],
  });
});
