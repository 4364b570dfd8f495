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
  match?: string,
): Promise<Record<string, unknown>> {
  const redis = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined); // The command that meets it fails with it.
  try {
    await settled(redis);
    const kept = (await readKeys(redis, match)).filter(({ key }) => !/:(lease:(rewrap|relay)|probe)$/.test(key));
    return Object.fromEntries(kept.map(({ key, type, value, expiresAt }) => [key, [type, value, expiresAt]]));
  } finally {
    redis.disconnect();
  }
}

/** A key as it was read. */
export interface StoredKey {
  readonly key: string;
  readonly type: string;
  /** A text, or a list: of a hash the fields and of a set the members in an order that depends on nothing else. */
  readonly value: unknown;
  /** In milliseconds since the epoch; −1: never. */
  readonly expiresAt: number;
}

const readers: Readonly<Record<string, (key: string) => readonly [string, ...string[]]>> = {
  string: key => ['get', key],
  hash: key => ['hgetall', key],
  zset: key => ['zrange', key, '0', '-1', 'WITHSCORES'],
  set: key => ['smembers', key],
  stream: key => ['xrange', key, '-', '+'],
  list: key => ['lrange', key, '0', '-1'],
};

/**
 * All keys, or those that match, by name: read in a few round trips, however many there are. What goes meanwhile is left out.
 * @throws when a key has a type that nobody here uses
 */
export async function readKeys(redis: Redis, match = '*'): Promise<StoredKey[]> {
  const found = new Set<string>();
  for await (const batch of redis.scanStream({ match, count: 1000 })) for (const key of batch) found.add(key);
  const keys = [...found].sort();
  const types = (
    await answersTo(
      redis,
      keys.map(key => ['type', key]),
    )
  ).map(String);
  const there = keys.flatMap((key, at) => (types[at] === 'none' ? [] : [{ key, type: types[at] ?? '' }]));
  const commands = there.flatMap(({ key, type }) => {
    const read = readers[type];
    if (read === undefined) throw new Error(`a type that nobody here uses: ${type}`);
    return [read(key), ['pexpiretime', key] as const];
  });
  const answers = await answersTo(redis, commands);
  return there
    .map(({ key, type }, at) => {
      const value = type === 'hash' || type === 'set' ? inOrder(answers[2 * at]) : answers[2 * at];
      return { key, type, value, expiresAt: Number(answers[2 * at + 1]) };
    })
    .filter(({ expiresAt }) => expiresAt !== GONE);
}

/** What PEXPIRETIME says of a key that does not exist. */
const GONE = -2;

async function answersTo(redis: Redis, commands: readonly (readonly string[])[]): Promise<unknown[]> {
  if (commands.length === 0) return [];
  const answers = await redis.pipeline(commands.map(command => [...command])).exec();
  return (answers ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** Members of a set, or fields of a hash with their values. */
function inOrder(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.toSorted();
  return Object.entries(answer as Record<string, unknown>).sort(([a], [b]) => (a < b ? -1 : 1));
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
