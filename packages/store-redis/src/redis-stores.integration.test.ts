import type { ElicitationEvent, Shard } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { type ContractStores, describeStores } from '@postern/testkit/contract';
import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { afterAll } from 'vitest';
import { createRedisStores, type RedisAddress, type RedisStores } from './index.ts';

const redis = await startRedis();
const cluster = await startRedisCluster();
afterAll(() => Promise.all([redis[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]));

let suites = 0;

async function makeStores(address: RedisAddress): Promise<ContractStores> {
  const clock = createFakeClock();
  suites += 1;
  const stores = await createRedisStores({ ...address, prefix: `suite-${suites}`, now: clock.now });
  return { ...stores, clock, events: shard => announced(stores, shard) };
}

async function announced(stores: RedisStores, shard: Shard): Promise<readonly ElicitationEvent[]> {
  return (await stores.events.read(shard, { limit: 10_000 })).map(({ event }) => event);
}

describeStores('Redis', () => makeStores({ url: redis.url }));
describeStores('Redis Cluster', () => makeStores({ nodes: cluster.urls.slice(0, 1) }));
