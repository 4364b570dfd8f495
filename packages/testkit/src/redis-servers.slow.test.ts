import { expect, test } from 'vitest';
import { createRedisTls, type RedisAccess, startRedis, startRedisCluster, startRedisSentinel } from './redis.ts';

const access: RedisAccess = {
  lines: ['user reader on >reader-password ~* -@all +ping +get'],
  user: { name: 'reader', password: 'reader-password' },
};

/** Electing a new master takes seconds, and longer on a busy machine. */
const patient = { timeout: 120_000 };

test('a server accepts only TLS with a client certificate', patient, async () => {
  await using tls = await createRedisTls();
  await using redis = await startRedis({ tls, access });
  expect(redis.url).toMatch(/^rediss:\/\/reader:reader-password@127\.0\.0\.1:\d+$/);
  expect(await redis.ask('PING')).toBe('PONG\n');
  await redis.kill();
  await expect(redis.ask('PING')).rejects.toThrow();
  await redis.restart();
  expect(await redis.ask('PING')).toBe('PONG\n');
});

test('stops a server that ignores SIGTERM while it writes its first append-only file', patient, async () => {
  await using redis = await startRedis({ appendonly: 'no', args: ['--rdb-key-save-delay', '10000'] });
  await redis.ask('EVAL', "for at = 1, 200 do redis.call('set', 'key' .. at, '') end", '0');
  await redis.ask('CONFIG', 'SET', 'appendonly', 'yes');
  await redis.stop();
  await expect(redis.ask('PING')).rejects.toThrow();
});

test('Sentinels replace a healthy master by a replica', patient, async () => {
  await using redis = await startRedisSentinel({ replicas: 1 });
  const before = await redis.masterNow();
  expect(before).toBe(redis.nodes[0]);
  expect(await redis.replicasNow()).toEqual([redis.nodes[1]]);
  expect(await redis.failover()).toBe(redis.nodes[1]);
});

test('a cluster replaces a healthy master by a replica', patient, async () => {
  await using cluster = await startRedisCluster({ replicasPerMaster: 1 });
  expect(cluster.nodes).toHaveLength(6);
  const master = await cluster.masterOf('{7f}');
  const [replica] = await cluster.replicasOf(master);
  if (replica === undefined) throw new Error('no replica');
  await cluster.failover(replica);
  expect(await cluster.masterOf('{7f}')).toBe(replica);
  expect(await cluster.mastersNow()).toHaveLength(3);
});
