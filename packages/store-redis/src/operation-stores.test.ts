/** How Redis keeps the records that only the operation of a gateway needs. The contract of their ports has its own suites. */
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKeys } from './keys.ts';
import { createRedisStores, type RedisStores } from './redis-stores.ts';

let server: RedisServer;
let stores: RedisStores;
let prefix: string;
let round = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await stores.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await stores?.close();
  round += 1;
  prefix = `operation-${round}`;
  stores = await createRedisStores({ url: server.url, prefix });
});

const newKey = (apiKeyId: string) => ({
  apiKeyId,
  mcpServerId: 'tracker',
  name: 'production',
  lastFour: 'abcd',
  by: 'olga',
  reason: 'first key',
  sealedDigest: `sealed-${apiKeyId}`,
});
const DAY_MS = 24 * 3_600_000;
const change = { by: 'olga', reason: 'leaked' };

test('refuses more keys than replicas can read, and still revokes; revoked ones make room', async () => {
  const list = createKeys(prefix).apiKeys;
  await stores.apiKeys.add(newKey('ak_1'));
  const fields = Array.from({ length: 9_999 }, (_, n) => [`ak_x${n}`, 'valid']).flat();
  await server.ask('HSET', list, ...fields);
  expect(await stores.apiKeys.add(newKey('ak_2'))).toBe('full');
  expect(await stores.apiKeys.revoke('ak_1', change)).toBe('revoked');
  expect(await stores.apiKeys.add(newKey('ak_2'))).toBe('added');
});

test('of revoked keys of the store, the newest stay listed', async () => {
  const ofFile = { apiKeyId: 'ak_file_1', mcpServerId: 'tracker', digest: 'd1' };
  await stores.apiKeys.revoke(ofFile, change);
  await stores.apiKeys.add(newKey('ak_1'));
  await stores.apiKeys.revoke('ak_1', change);
  const newer = Array.from({ length: 1_000 }, (_, n) => [`ak_y${n}`, `revoked ${Date.now() + 1e12}`]).flat();
  await server.ask('HSET', createKeys(prefix).apiKeys, ...newer);
  await stores.apiKeys.add(newKey('ak_2'));
  const listed = (await stores.apiKeys.read())?.apiKeys.map(({ apiKeyId }) => apiKeyId);
  expect(listed?.sort()).toEqual(['ak_2', 'ak_file_1']);
});

test('reads a long list without using up the connection', async () => {
  const { apiKey, apiKeys } = createKeys(prefix);
  await stores.apiKeys.add(newKey('ak_1'));
  const copies =
    "for n = 1, 1200 do redis.call('COPY', KEYS[1], KEYS[1] .. n) redis.call('HSET', KEYS[2], 'ak_1' .. n, 'valid') end";
  await server.ask('EVAL', copies, '2', apiKey('ak_1'), apiKeys);
  const narrow = await createRedisStores({ url: server.url, prefix, maxPendingCommands: 600 });
  try {
    expect((await narrow.apiKeys.read())?.apiKeys).toHaveLength(1_201);
  } finally {
    await narrow.close();
  }
});

test('an ended job and the refreshes of a day expire after their retention', async () => {
  const keys = createKeys(prefix);
  const jobId = `jb_${samples.operation()}`;
  const about = { verb: 'disconnect', target: {}, by: 'olga', door: 'console' } as const;
  await stores.jobs.start({ jobId, about });
  await stores.jobs.end({ jobId, status: 'cancelled' });
  const counts = [{ at: Date.parse('2026-11-23'), outcome: 'refreshed', count: 1 }] as const;
  const batch = { provider: 'forge', day: '2026-11-23', operationId: samples.operation(), counts };
  await stores.refreshCounts.add('a', batch);
  for (const [key, days] of [
    [keys.job(jobId), 30],
    [keys.endedJobs, 30],
    [keys.refreshes('forge', '2026-11-23'), 90],
  ] as const) {
    const left = Number(await server.ask('PTTL', key));
    expect(left).toBeGreaterThan((days - 1) * DAY_MS);
    expect(left).toBeLessThanOrEqual(days * DAY_MS);
  }
});
