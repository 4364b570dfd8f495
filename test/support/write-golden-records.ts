/**
 * `node write-golden-records.ts <file>`: writes records in the layout of this release, and the values that it reads. Never rewrite the
 * file of a released layout: every later release must read it.
 */
import { writeFileSync } from 'node:fs';
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
