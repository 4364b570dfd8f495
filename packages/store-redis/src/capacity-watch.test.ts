import { SHARDS } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { describe, expect, test } from 'vitest';
import { createRedisStores, type RedisAddress, type RedisCapacity } from './index.ts';
import { createKeys } from './keys.ts';

const { ask, somebody } = samples;
/** Limit that only turns a hang into a failure. */
const eventually = { timeout: 100_000, interval: 20 };

/** Opens stores that check the capacity repeatedly, and records the last result. */
async function watching(address: RedisAddress) {
  const seen: { last?: RedisCapacity } = {};
  const onCapacity = (capacity: RedisCapacity) => {
    seen.last = capacity;
  };
  const stores = await createRedisStores({ ...address, watchMs: 20, onCapacity });
  return { stores, seen, refusals: () => seen.last?.refusals, [Symbol.asyncDispose]: () => stores.close() };
}

/** Fills Redis so that it refuses further writes. */
async function fill(redis: RedisServer): Promise<void> {
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1mb');
}

describe('the capacity watch', () => {
  test('S77: notices a full Redis that still answers, and notices when it accepts writes again', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '1gb'] });
    await using watch = await watching({ url: redis.url });
    const { stores, seen, refusals } = watch;
    expect(refusals()).toEqual([]);
    expect(seen.last?.memoryUsed).toBeLessThan(0.5);
    await fill(redis);
    await expect.poll(refusals, eventually).toEqual(['OOM']);
    expect(stores.refusals()).toEqual(['OOM']);
    expect(seen.last?.memoryUsed).toBeGreaterThan(1);
    await stores.ping();
    await expect(stores.elicitations.create(ask(somebody()))).rejects.toMatchObject({ code: 'store_unavailable' });
    await redis.ask('CONFIG', 'SET', 'maxmemory', '1gb');
    await expect.poll(refusals, eventually).toEqual([]);
    expect(await stores.elicitations.create(ask(somebody()))).toMatchObject({ result: 'created' });
  });

  test.each([
    ['READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    ['NOREPLICAS', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], ['CONFIG', 'SET', 'min-replicas-to-write', '0']],
  ])('S77: names the refusal code %s', async (code, begin, end) => {
    await using redis = await startRedis({ args: ['--maxmemory', '0'] });
    await using watch = await watching({ url: redis.url });
    await redis.ask(...begin);
    await expect.poll(watch.refusals, eventually).toEqual([code]);
    await redis.ask(...end);
    await expect.poll(watch.refusals, eventually).toEqual([]);
    expect(watch.seen.last?.memoryUsed).toBeUndefined();
  });

  test('S77: notices any single full master of a Cluster', async () => {
    await using cluster = await startRedisCluster();
    await using watch = await watching({ nodes: cluster.urls });
    const probes = await Promise.all(cluster.nodes.map(node => node.ask('KEYS', '*:probe')));
    expect(probes.map(names => names.trim().split('\n').length)).toEqual([1, 1, 1]);
    expect(probes.every(names => names.includes(':probe'))).toBe(true);
    for (const node of cluster.nodes) {
      await expect.poll(watch.refusals, eventually).toEqual([]);
      await fill(node);
      await expect.poll(watch.refusals, eventually).toEqual(['OOM']);
      await node.ask('CONFIG', 'SET', 'maxmemory', '1gb');
    }
  });

  test('writes no probe without onCapacity', async () => {
    await using redis = await startRedis();
    await using stores = await createRedisStores({ url: redis.url });
    expect(stores.refusals()).toEqual([]);
    expect(await redis.ask('EXISTS', ...SHARDS.map(createKeys('postern').probe))).toMatch(/^0\s*$/);
  });

  test('warns of a Redis without maxmemory', async () => {
    await using redis = await startRedis({ args: ['--maxmemory', '0'] });
    const warned: string[] = [];
    const onWarning = (setting: string) => void warned.push(setting);
    await using _first = await createRedisStores({ url: redis.url, onWarning });
    await redis.ask('CONFIG', 'SET', 'maxmemory', '1gb');
    await using _second = await createRedisStores({ url: redis.url, onWarning });
    expect(warned).toEqual(['maxmemory']);
  });
});
