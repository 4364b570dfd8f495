import { readFileSync } from 'node:fs';
import { createFakeClock } from '@postern/testkit/clock';
import { type ContractStores, describeStores, FEED_RETENTION } from '@postern/testkit/contract';
import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { isShortRun } from '@postern/testkit/run-size';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { createRedisStores, type RedisAddress } from './index.ts';
import { keyRowOf } from './keyspace.ts';

const redis = await startRedis();
// The suite is the same over a cluster: the short run leaves that one out.
const cluster = isShortRun ? undefined : await startRedisCluster();
afterAll(() => Promise.all([redis[Symbol.asyncDispose](), cluster?.[Symbol.asyncDispose]()]));

/** The permissions that KEYSPACE.md lists. All tests below run as a Redis user with exactly these permissions. */
const keyspace = readFileSync(new URL('../KEYSPACE.md', import.meta.url), 'utf8');
const needed = keyspace.slice(keyspace.indexOf('## What the Redis user needs'));
const commands = Array.from(needed.matchAll(/`([A-Z|]+)`/g), match => `+${match[1]}`);

async function asGateway(url: string): Promise<string> {
  const operator = new Redis(url);
  await operator.call('ACL', 'SETUSER', 'gateway', 'on', '>secret', '~suite-*', '&suite-*', ...commands);
  operator.disconnect();
  return url.replace('//', '//gateway:secret@');
}

const addresses = {
  redis: { url: await asGateway(redis.url) },
  cluster: cluster && { nodes: (await Promise.all(cluster.urls.map(asGateway))).slice(0, 1) },
} as const satisfies Record<string, RedisAddress | undefined>;
let suites = 0;

async function makeStores(address: RedisAddress): Promise<ContractStores> {
  const clock = createFakeClock();
  suites += 1;
  const stores = await createRedisStores({
    ...address,
    prefix: `suite-${suites}`,
    now: clock.now,
    feed: FEED_RETENTION,
  });
  return { ...stores, clock };
}

describeStores('Redis', () => makeStores(addresses.redis));
if (addresses.cluster !== undefined) {
  const { cluster: address } = addresses;
  describeStores('Redis Cluster', () => makeStores(address));
}

test('S207: every key of these suites has a row in KEYSPACE.md that says who pays for it', async () => {
  const unknown: string[] = [];
  const found = new Set<string | undefined>();
  for (const url of [redis.url, ...(cluster?.urls ?? [])]) {
    const operator = new Redis(url);
    const keys = await operator.keys('suite-*');
    operator.disconnect();
    for (const key of keys) {
      const row = keyRowOf(key.slice(0, key.indexOf(':')), key);
      found.add(row?.key);
      if (row === undefined) unknown.push(key);
    }
  }
  expect(unknown).toEqual([]);
  expect(found.size).toBeGreaterThan(30);
});
