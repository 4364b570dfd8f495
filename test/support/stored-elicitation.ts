import { Redis } from 'ioredis';
import type { World } from './world.ts';

async function withRecord<T>(world: World, elicitationId: string, run: (redis: Redis, key: string) => Promise<T>) {
  const redis = new Redis(world.redis.url);
  try {
    const [key, ...more] = await redis.keys(`*:el:${elicitationId.slice(5)}`);
    if (key === undefined || more.length > 0) throw new Error('there is not one record of this elicitation');
    return await run(redis, key);
  } finally {
    redis.disconnect();
  }
}

/** Everything that Redis holds of an elicitation. */
export function storedElicitation(world: World, elicitationId: string): Promise<Record<string, string>> {
  return withRecord(world, elicitationId, (redis, key) => redis.hgetall(key));
}

/** Somebody who has Redis changes a text within the record. @throws when it does not occur */
export function tamper(world: World, elicitationId: string, from: string, to: string): Promise<void> {
  return withRecord(world, elicitationId, async (redis, key) => {
    const fields = Object.entries(await redis.hgetall(key)).filter(([, value]) => value.includes(from));
    if (fields.length === 0) throw new Error('the record does not say so');
    for (const [name, value] of fields) await redis.hset(key, name, value.replace(from, to));
  });
}
