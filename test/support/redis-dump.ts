import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

/**
 * Everything in a Redis: by key its type, value and absolute expiry, in an order that depends on nothing else. Once every event has
 * been carried to its feed, and without the leases by which replicas take turns: those come and go by themselves.
 */
export async function dumpRedis(url: string): Promise<Record<string, unknown>> {
  return dump(url, untilCarried);
}

/** The same as it is at this moment, of keys with this prefix: for where nobody carries events. */
export async function dumpRedisNow(url: string, prefix: string): Promise<Record<string, unknown>> {
  return dump(url, async () => undefined, `${prefix}:*`);
}

async function dump(
  url: string,
  settled: (redis: Redis) => Promise<void>,
  match = '*',
): Promise<Record<string, unknown>> {
  const redis = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined); // The command that meets it fails with it.
  try {
    await settled(redis);
    const keys: string[] = [];
    for await (const batch of redis.scanStream({ match, count: 1000 })) keys.push(...(batch as string[]));
    const found: Record<string, unknown> = {};
    for (const key of [...new Set(keys)].sort().filter(name => !/:lease:(rewrap|relay)$/.test(name))) {
      const type = await redis.type(key);
      found[key] = [type, await contentOf(redis, type, key), await redis.call('PEXPIRETIME', key)];
    }
    return found;
  } finally {
    redis.disconnect();
  }
}

/** Where nobody is left to carry anything it gives up: then nothing changes by itself either. */
async function untilCarried(redis: Redis): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const outboxes = await redis.keys('*:events');
    const behind = await Promise.all(
      outboxes.map(async outbox => {
        const [newest] = await redis.xrevrange(outbox, '+', '-', 'COUNT', 1);
        return newest?.[0] !== (await redis.get(outbox.replace(/:events$/, ':cursor')));
      }),
    );
    if (!behind.includes(true)) return;
    await delay(20);
  }
}

function contentOf(redis: Redis, type: string, key: string): Promise<unknown> {
  switch (type) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key).then(hash => Object.entries(hash).sort(([a], [b]) => (a < b ? -1 : 1)));
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES');
    case 'set':
      return redis.smembers(key).then(members => members.sort());
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'list':
      return redis.lrange(key, 0, -1);
    default:
      throw new Error(`a type that nobody here uses: ${type}`);
  }
}

/** Names of the writing commands Redis has run since the last call, those inside scripts included. */
export async function writesSince(url: string): Promise<string[]> {
  const redis = new Redis(url);
  try {
    const stats = await redis.info('commandstats');
    await redis.config('RESETSTAT');
    const ran = [...stats.matchAll(/^cmdstat_([a-z|]+):/gm)].map(([, name = '']) => name.split('|')[0] ?? '');
    const flags = (await redis.call('COMMAND', 'INFO', ...ran)) as ([string, number, string[]] | null)[];
    // Scripts are flagged as writing whatever they do; what they do is counted by itself.
    return flags
      .filter(entry => entry?.[2].includes('write'))
      .map(entry => entry?.[0] ?? '')
      .filter(name => !name.startsWith('eval'))
      .sort();
  } finally {
    redis.disconnect();
  }
}
