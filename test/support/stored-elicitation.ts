import { Redis } from 'ioredis';
import type { Stage } from './stage.ts';

async function withRecord<T>(stage: Stage, elicitationId: string, run: (redis: Redis, key: string) => Promise<T>) {
  const redis = new Redis(stage.world.redis.url);
  try {
    const [key, ...more] = await redis.keys(`*:el:${elicitationId.slice(5)}`);
    if (key === undefined || more.length > 0) throw new Error('there is not one record of this elicitation');
    return await run(redis, key);
  } finally {
    redis.disconnect();
  }
}

/** Everything that Redis holds of an elicitation. */
export function storedElicitation(stage: Stage, elicitationId: string): Promise<Record<string, string>> {
  return withRecord(stage, elicitationId, (redis, key) => redis.hgetall(key));
}

/** Somebody who has Redis changes a text within the record. @throws when it does not occur */
export function tamper(stage: Stage, elicitationId: string, from: string, to: string): Promise<void> {
  return withRecord(stage, elicitationId, async (redis, key) => {
    const fields = Object.entries(await redis.hgetall(key)).filter(([, value]) => value.includes(from));
    if (fields.length === 0) throw new Error('the record does not say so');
    for (const [name, value] of fields) await redis.hset(key, name, value.replace(from, to));
  });
}
