import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** Fields of a record, in order: the store splits a short record. */
export const RECORD_PIECES = ['record', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8'];

/**
 * Everything in a Redis: type, value and absolute expiry by key, in a deterministic order. Taken after all events have reached their
 * feeds, and without the leases of background work, the list of replicas, ages of keys and counts of refreshes, which change at their own
 * time.
 */
export async function dumpRedis(url: string): Promise<Record<string, unknown>> {
  const stored = await dump(url, untilCarried);
  return Object.fromEntries(Object.entries(stored).filter(([key]) => !/:(?:rps|ages|refreshes:.*)$/.test(key)));
}

/** Like {@link dumpRedis}, at this moment and for keys with this prefix: for a Redis without a running relay. */
export async function dumpRedisNow(url: string, prefix: string): Promise<Record<string, unknown>> {
  return dump(url, async () => undefined, `${prefix}:*`);
}

async function dump(
  url: string,
  settled: (redis: Redis) => Promise<void>,
  match?: string,
): Promise<Record<string, unknown>> {
  const redis = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined); // The failing command rejects with the error.
  try {
    await settled(redis);
    const kept = (await readKeys(redis, match)).filter(({ key }) => !/:(lease:(rewrap|relay)|probe)$/.test(key));
    return Object.fromEntries(kept.map(({ key, type, value, expiresAt }) => [key, [type, value, expiresAt]]));
  } finally {
    redis.disconnect();
  }
}

/** The records in a dump, each as one string: the store splits short records, and a search would miss a split value. */
export function joinedRecords(dump: Readonly<Record<string, unknown>>): string {
  return Object.values(dump)
    .flatMap(stored => {
      const [type, value] = stored as readonly [string, unknown];
      if (type !== 'hash') return [];
      const fields = new Map(value as readonly (readonly [string, string])[]);
      return [RECORD_PIECES.map(name => fields.get(name) ?? '').join('')];
    })
    .join('\n');
}

/** A key with its value. */
export interface StoredKey {
  readonly key: string;
  readonly type: string;
  /** A string or a list. The fields of a hash and the members of a set are sorted. */
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
 * Reads all keys, or those that match, sorted by name, in a few round trips. Omits keys that expire meanwhile.
 * @throws if a key has an unsupported type
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
    if (read === undefined) throw new Error(`unsupported type: ${type}`);
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

/** Result of PEXPIRETIME for a key that does not exist. */
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

/** Gives up if no relay is running: then the outbox does not change either. */
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
