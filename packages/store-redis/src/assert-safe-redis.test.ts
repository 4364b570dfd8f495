import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createRedisStores } from './index.ts';

describe('start-up on an unsafe Redis', () => {
  test.each([
    { fault: 'no append-only file', setting: 'appendonly', options: { appendonly: 'no' } },
    { fault: 'evicting', setting: 'maxmemory-policy', options: { args: ['--maxmemory-policy', 'allkeys-lru'] } },
    {
      fault: 'evicting what expires',
      setting: 'maxmemory-policy',
      options: { args: ['--maxmemory-policy', 'volatile-ttl'] },
    },
  ] as const)('is refused: $fault', async ({ setting, options }) => {
    await using redis = await startRedis(options);
    await expect(createRedisStores({ url: redis.url })).rejects.toMatchObject({ name: 'UnsafeRedisError', setting });
  });

  test('rejects a cluster with a single unsafe node', async () => {
    await using cluster = await startRedisCluster();
    const operator = new Redis(cluster.urls[1] ?? '');
    await operator.config('SET', 'appendonly', 'no');
    operator.disconnect();
    await expect(createRedisStores({ nodes: cluster.urls })).rejects.toMatchObject({ setting: 'appendonly' });
  });

  test('rejects a Redis that forbids CONFIG, unless the operator vouches for it', async () => {
    await using redis = await startRedis({ args: ['--rename-command', 'CONFIG', ''] });
    await expect(createRedisStores({ url: redis.url })).rejects.toMatchObject({ setting: 'config' });
    await using stores = await createRedisStores({ url: redis.url, assumeDurable: true });
    await stores.ping();
  });

  test('rejects a Redis whose ACL forbids CONFIG', async () => {
    await using redis = await startRedis({
      args: ['--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', '-config'],
    });
    await expect(createRedisStores({ url: redis.url })).rejects.toMatchObject({ setting: 'config' });
    await using stores = await createRedisStores({ url: redis.url, assumeDurable: true });
    await stores.ping();
  });

  test('rejects an unsafe setting that Redis reports, even if the operator vouches for it', async () => {
    await using redis = await startRedis({ appendonly: 'no' });
    const start = createRedisStores({ url: redis.url, assumeDurable: true });
    await expect(start).rejects.toMatchObject({ setting: 'appendonly' });
  });

  test('fails the health check when the eviction policy changes at run time', async () => {
    await using redis = await startRedis();
    await using stores = await createRedisStores({ url: redis.url });
    await stores.ping();
    const operator = new Redis(redis.url);
    await operator.config('SET', 'maxmemory-policy', 'allkeys-lru');
    operator.disconnect();
    await expect(stores.ping()).rejects.toMatchObject({ setting: 'maxmemory-policy' });
  });
});
