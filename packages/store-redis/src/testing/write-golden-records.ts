/**
 * `node write-golden-records.ts <file>`: records as this release writes them, and what it reads in them. To be run before a
 * release that changes how something is stored; what it has written is never written again.
 */
import { writeFileSync } from 'node:fs';
import { createFakeClock } from '@postern/testkit/clock';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { createRedisStores } from '../index.ts';
import {
  dumpKeys,
  GOLDEN_PREFIX,
  type GoldenRecords,
  readGoldenRecords,
  writeGoldenRecords,
} from './golden-records.ts';

const [file] = process.argv.slice(2);
if (file === undefined) throw new TypeError('Name the file to write.');

await using redis = await startRedis();
const { now } = createFakeClock();
await using stores = await createRedisStores({ url: redis.url, prefix: GOLDEN_PREFIX, now });
const operator = new Redis(redis.url);
const names = await writeGoldenRecords(stores);
const keys = await dumpKeys(operator);
const readings = await readGoldenRecords(stores, names);
operator.disconnect();
writeFileSync(file, `${JSON.stringify({ at: now(), keys, names, readings } satisfies GoldenRecords, null, 1)}\n`);
