import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { dumpRedisNow, readKeys } from './redis-dump.ts';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis({ appendonly: 'no' });
  redis = new Redis(server.url);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis?.disconnect();
  await server?.[Symbol.asyncDispose]();
});

const EXPIRES_AT = 4_102_444_800_000;

test('readKeys returns every type with its expiry, in an order independent of the writes', async () => {
  expect(await readKeys(redis)).toEqual([]);
  await redis.set('f', 'text', 'PXAT', EXPIRES_AT);
  await redis.hset('e', { b: '1', a: '2' });
  await redis.sadd('d', 'y', 'x');
  await redis.zadd('c', 2, 'late', 1, 'early');
  await redis.rpush('b', 'y', 'x');
  await redis.xadd('a', '1-1', 'name', 'value');
  expect(await readKeys(redis)).toEqual([
    { key: 'a', type: 'stream', value: [['1-1', ['name', 'value']]], expiresAt: -1 },
    { key: 'b', type: 'list', value: ['y', 'x'], expiresAt: -1 },
    { key: 'c', type: 'zset', value: ['early', '1', 'late', '2'], expiresAt: -1 },
    { key: 'd', type: 'set', value: ['x', 'y'], expiresAt: -1 },
    {
      key: 'e',
      type: 'hash',
      value: [
        ['a', '2'],
        ['b', '1'],
      ],
      expiresAt: -1,
    },
    { key: 'f', type: 'string', value: 'text', expiresAt: EXPIRES_AT },
  ]);
});

test('dumpRedisNow returns the keys with a prefix, without the leases of background work', async () => {
  await redis.mset('p:1', 'mine', 'p:lease:relay', 'mine too', 'q:1', 'of others');
  expect(await dumpRedisNow(server.url, 'p')).toEqual({ 'p:1': ['string', 'mine', -1] });
});

test('readKeys omits keys that expire during the read', async () => {
  await redis.set('here', '1');
  const scanned = as({
    scanStream: async function* () {
      yield ['here', 'gone', 'here'];
    },
  });
  expect((await readKeys(scanned)).map(({ key }) => key)).toEqual(['here']);
});

test('readKeys throws for an unsupported type', async () => {
  await redis.set('k', 'v');
  const ofModule = as({ pipeline: () => ({ exec: async () => [[null, 'ReJSON-RL']] }) });
  await expect(readKeys(ofModule)).rejects.toThrow('ReJSON-RL');
});

/** The same Redis with these members replaced. */
const as = (other: object): Redis => Object.assign(Object.create(redis) as Redis, other);
