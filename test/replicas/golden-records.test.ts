import { readFileSync } from 'node:fs';
import { recordLayouts } from '@postern/elicitation';
import { createRedisStores } from '@postern/store-redis';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { GOLDEN_PREFIX, type GoldenRecords, readGoldenRecords, restoreKeys } from '../support/golden-records.ts';

const golden = (layout: number): GoldenRecords =>
  JSON.parse(readFileSync(new URL(`golden/layout-${layout}.json`, import.meta.url), 'utf8'));
/** As JSON has it: what is absent is not there. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe.each(recordLayouts)('records in layout %s, as a release has written them', layout => {
  it.each(recordLayouts)('are read as they were, and moved on, by one that writes layout %s', async recordLayout => {
    const { keys, names, readings, at } = golden(layout);
    await using redis = await startRedis();
    const operator = new Redis(redis.url);
    await restoreKeys(operator, keys);
    operator.disconnect();
    await using stores = await createRedisStores({
      ...{ url: redis.url, prefix: GOLDEN_PREFIX, recordLayout, now: () => at },
    });
    expect(plain(await readGoldenRecords(stores, names))).toEqual(readings);

    for (const elicitationId of names.elicitations) {
      const current = await stores.elicitations.read(elicitationId);
      if (current?.status !== 'pending') continue;
      const cancelled = await samples.moved(stores.elicitations, current, samples.cancel);
      expect(cancelled.layout).toBe(recordLayout);
      expect(await stores.elicitations.read(elicitationId)).toEqual(cancelled);
    }
  });
});
