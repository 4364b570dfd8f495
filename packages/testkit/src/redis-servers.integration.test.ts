import { expect, test } from 'vitest';
import { createRedisTls, type RedisAccess, startRedis, startRedisCluster, startRedisSentinel } from './redis.ts';

const access: RedisAccess = {
  lines: [
    'user reader on >reader-password ~* -@all +ping +get',
    'user replica on >replica-password -@all +psync +replconf +ping',
  ],
  user: { name: 'reader', password: 'reader-password' },
  replica: { name: 'replica', password: 'replica-password' },
};

const sentinelAccess: RedisAccess = {
  lines: ['user asker on >asker-password -@all +sentinel|get-master-addr-by-name'],
  user: { name: 'asker', password: 'asker-password' },
};

/** Electing a new master takes seconds, and more on a busy machine. */
const PATIENCE_MS = 120_000;

test(
  'a server speaks TLS only, to those with a certificate',
  async () => {
    await using tls = await createRedisTls();
    await using redis = await startRedis({ tls, access });
    expect(redis.url).toMatch(/^rediss:\/\/reader:reader-password@127\.0\.0\.1:\d+$/);
    expect(await redis.ask('PING')).toBe('PONG\n');
    await redis.kill();
    await expect(redis.ask('PING')).rejects.toThrow();
    await redis.restart();
    expect(await redis.ask('PING')).toBe('PONG\n');
  },
  PATIENCE_MS,
);

test(
  'Sentinels put a replica in the place of a killed master, with TLS and users',
  async () => {
    await using tls = await createRedisTls();
    await using redis = await startRedisSentinel({ tls, access, sentinelAccess });
    const before = await redis.masterNow();
    expect(before).toBe(redis.nodes[0]);
    expect(await redis.replicasNow()).toHaveLength(2);
    await before.kill();
    const after = await redis.untilMasterIsNot(before);
    expect(after).not.toBe(before);
    await redis.untilReplicas(1);
    await before.restart();
    await redis.untilReplicas(2);
    const third = await redis.failover();
    expect(third).not.toBe(after);
  },
  PATIENCE_MS,
);

test(
  'a cluster with replicas, TLS and users fails over',
  async () => {
    await using tls = await createRedisTls();
    await using cluster = await startRedisCluster({ replicasPerMaster: 1, tls, access });
    expect(cluster.nodes).toHaveLength(6);
    const master = await cluster.masterOf('{7f}');
    const [replica] = await cluster.replicasOf(master);
    if (replica === undefined) throw new Error('no replica');
    await cluster.failover(replica);
    expect(await cluster.masterOf('{7f}')).toBe(replica);
    expect(await cluster.mastersNow()).toHaveLength(3);
  },
  PATIENCE_MS,
);
