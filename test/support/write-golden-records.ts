/**
 * `node write-golden-records.ts <file> <layout>`: records as this release writes them in a layout, and what it reads in them. What it
 * has written for a release is never written again: every later one has to read it.
 */
import { writeFileSync } from 'node:fs';
import { recordLayouts } from '@postern/elicitation';
import { createRedisStores } from '@postern/store-redis';
import { createFakeClock } from '@postern/testkit/clock';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import {
  dumpKeys,
  GOLDEN_PREFIX,
  type GoldenRecords,
  readGoldenRecords,
  writeGoldenRecords,
} from './golden-records.ts';

const [file, layout] = process.argv.slice(2);
const recordLayout = recordLayouts.find(known => String(known) === layout);
if (file === undefined || recordLayout === undefined) throw new TypeError('Name the file to write, and the layout.');

await using redis = await startRedis();
const { now } = createFakeClock();
await using stores = await createRedisStores({ url: redis.url, prefix: GOLDEN_PREFIX, recordLayout, now });
const operator = new Redis(redis.url);
const names = await writeGoldenRecords(stores);
const keys = await dumpKeys(operator);
const readings = await readGoldenRecords(stores, names);
operator.disconnect();
writeFileSync(file, `${JSON.stringify({ at: now(), keys, names, readings } satisfies GoldenRecords, null, 1)}\n`);
