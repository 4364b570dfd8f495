import { readFileSync } from 'node:fs';
import { createRedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { GOLDEN_PREFIX, type GoldenRecords, readGoldenRecords, restoreKeys } from '../support/golden-records.ts';

/** Converts to plain JSON, without undefined members. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

it.each([1])('records of layout %s, written by a release, are read unchanged and allow transitions', async layout => {
  const file = readFileSync(new URL(`golden/layout-${layout}.json`, import.meta.url), 'utf8');
  const { keys, names, readings, at }: GoldenRecords = JSON.parse(file);
  await using redis = await startRedis();
  const operator = new Redis(redis.url);
  await restoreKeys(operator, keys);
  operator.disconnect();
  await using stores = await createRedisStores({ url: redis.url, prefix: GOLDEN_PREFIX, now: () => at });
  // This release did not list browser sessions for their users. One that is not listed has ended: its user signs in again.
  const browserSessions = names.browserSessions.map(() => null);
  expect(plain(await readGoldenRecords(stores, names))).toEqual({ ...readings, browserSessions });

  for (const elicitationId of names.elicitations) {
    const current = await stores.elicitations.read(elicitationId);
    if (current?.status !== 'pending') continue;
    const cancelled = await samples.moved(stores.elicitations, current, samples.cancel);
    expect(await stores.elicitations.read(elicitationId)).toEqual(cancelled);
  }
});
