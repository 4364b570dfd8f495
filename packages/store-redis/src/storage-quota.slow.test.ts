import { SHARDS, type StorageQuota, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { afterAll, describe, expect, test } from 'vitest';
import { createRedisStores, type RedisAddress } from './index.ts';

const { ask, from, somebody } = samples;

const redis = await startRedis();
const cluster = await startRedisCluster();
afterAll(() => Promise.all([redis[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]));

const addresses: [string, RedisAddress][] = [
  ['one Redis', { url: redis.url }],
  ['a Redis Cluster of three masters', { nodes: cluster.urls }],
];
const QUOTA: StorageQuota = { records: 16 * SHARDS.length, bytes: 1e12 };
/** Seven eighths of 16 in each shard. */
const MOST_ASKS = 14 * SHARDS.length;

describe.each(addresses)('the quota of an MCP server on %s', (_, address) => {
  test('S73: refuses an MCP server that invents users beyond its quota, and serves another one in every shard', async () => {
    await using stores = await createRedisStores(address);
    const issue = async (mcpServerId: string, person = somebody()) => {
      const request = from(mcpServerId, { ...ask(person), quota: QUOTA });
      return (await stores.elicitations.create(request)).result;
    };
    let accepted = 0;
    for (let batch = 0; batch < 24; batch += 1) {
      const results = await Promise.all(Array.from({ length: 250 }, () => issue('hoarder')));
      accepted += results.filter(result => result === 'created').length;
      expect(results.every(result => result === 'created' || result === 'over_quota')).toBe(true);
    }
    expect(accepted).toBeLessThanOrEqual(MOST_ASKS);
    // With 6,000 random users, all but a few shards are full.
    expect(accepted).toBeGreaterThan(MOST_ASKS * 0.95);
    for (const shard of SHARDS) {
      let person = somebody();
      while (shardOf(person) !== shard) person = somebody();
      expect(await issue('calm', person)).toBe('created');
    }
  });
});
