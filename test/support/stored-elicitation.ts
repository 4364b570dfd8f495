import { Redis } from 'ioredis';
import { RECORD_PIECES } from './redis-dump.ts';
import { changeFile, dumpFile } from './store-dump.ts';
import type { World } from './world-parts.ts';

async function withRecord<T>(world: World, elicitationId: string, run: (redis: Redis, key: string) => Promise<T>) {
  const redis = new Redis(world.redis.url);
  try {
    const [key, ...more] = await redis.keys(`*:el:${elicitationId.slice(5)}`);
    if (key === undefined || more.length > 0) throw new Error('the elicitation does not have exactly one record');
    return await run(redis, key);
  } finally {
    redis.disconnect();
  }
}

/** Everything that the store holds of an elicitation. */
export async function storedElicitation(world: World, elicitationId: string): Promise<unknown> {
  if (world.file !== undefined) return dumpFile(world.file).records[`elicitation:${elicitationId}`];
  return withRecord(world, elicitationId, (redis, key) => redis.hgetall(key));
}

/** Removes the record, as its retention does. */
export async function expireRecord(world: World, elicitationId: string): Promise<void> {
  if (world.file !== undefined) {
    changeFile(world, "DELETE FROM records WHERE kind = 'elicitation' AND id = ?", elicitationId);
    return;
  }
  await withRecord(world, elicitationId, (redis, key) => redis.del(key));
}

/** Changes a text in the record, as an attacker with access to the store would. @throws if the record does not contain it */
export async function tamper(world: World, elicitationId: string, from: string, to: string): Promise<void> {
  if (world.file !== undefined) {
    if (!JSON.stringify(await storedElicitation(world, elicitationId)).includes(JSON.stringify(from).slice(1, -1)))
      throw new Error('the record does not contain this text');
    const sql = "UPDATE records SET value = replace(value, ?, ?) WHERE kind = 'elicitation' AND id = ?";
    changeFile(world, sql, from, to, elicitationId);
    return;
  }
  return withRecord(world, elicitationId, async (redis, key) => {
    const pieces = await redis.hmget(key, ...RECORD_PIECES);
    const record = pieces.join('');
    if (!record.includes(from)) throw new Error('the record does not contain this text');
    await redis.hset(key, 'record', record.replace(from, to));
    await redis.hdel(key, ...RECORD_PIECES.slice(1));
  });
}
