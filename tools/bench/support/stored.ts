import { setTimeout as delay } from 'node:timers/promises';
import { SHARDS } from '@postern/elicitation';
import type { Redis } from 'ioredis';

/** Waits until the relay has moved all events and stored its cursor. @returns bytes in use */
export async function untilAnnounced(redis: Redis): Promise<number> {
  for (;;) {
    const behind = await Promise.all(
      SHARDS.map(async shard => {
        const [newest] = await redis.xrevrange(`postern:{${shard}}:events`, '+', '-', 'COUNT', 1);
        return newest !== undefined && newest[0] !== (await redis.get(`postern:{${shard}}:cursor`));
      }),
    );
    if (!behind.includes(true)) return usedBytes(redis);
    await delay(100);
  }
}

/** Without the buffers of connections and of the append-only file, which are not stored records. */
async function usedBytes(redis: Redis): Promise<number> {
  const memory = await redis.info('memory');
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1]);
  return read('used_memory') - read('mem_clients_normal') - read('mem_aof_buffer');
}

/**
 * The keys that operators' lists and counts read, by their noun in KEYSPACE.md. `due` is also the index that expiry needs, and `rvs` the
 * one of due revocations.
 */
export const LISTS = ['due', 'ended', 'connected', 'saved', 'rvs'] as const;
export type List = (typeof LISTS)[number];

/** Bytes of these lists in all shards, with their key names. */
export async function listBytes(redis: Redis, lists: readonly List[]): Promise<number> {
  const keys = lists.flatMap(list => SHARDS.map(shard => `postern:{${shard}}:${list}`));
  return bytesOf(redis, keys);
}

/** Bytes of the counts of all MCP servers and days. */
export async function countBytes(redis: Redis): Promise<number> {
  return bytesOf(redis, await redis.keys('postern:*:counts:*'));
}

async function bytesOf(redis: Redis, keys: readonly string[]): Promise<number> {
  // Samples 0: all entries are measured.
  const sizes = await Promise.all(keys.map(key => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
