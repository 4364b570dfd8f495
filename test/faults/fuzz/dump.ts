import { Redis } from 'ioredis';

/** By key its value and absolute expiry. */
export type Dump = ReadonlyMap<string, { readonly value: string; readonly expiresAt: number }>;

const readers: Readonly<Record<string, (key: string) => [string, ...string[]]>> = {
  string: key => ['get', key],
  hash: key => ['hgetall', key],
  zset: key => ['zrange', key, '0', '-1', 'WITHSCORES'],
  set: key => ['smembers', key],
  stream: key => ['xrange', key, '-', '+'],
  list: key => ['lrange', key, '0', '-1'],
};

const clients = new Map<string, Redis>();

/** Everything in a small Redis in three round trips, to be taken often. */
export async function dumpQuickly(url: string): Promise<Dump> {
  const redis = clients.get(url) ?? new Redis(url);
  clients.set(url, redis);
  const keys: string[] = [];
  for await (const batch of redis.scanStream({ count: 1000 })) keys.push(...(batch as string[]));
  const names = [...new Set(keys)].sort();
  const types = await answersOf(
    redis,
    names.map(key => ['type', key]),
  );
  const values = await answersOf(
    redis,
    names.map((key, at) => readers[String(types[at])]?.(key) ?? ['exists', key]),
  );
  const expiries = await answersOf(
    redis,
    names.map(key => ['pexpiretime', key]),
  );
  return new Map(
    names.map((key, at) => [key, { value: canonical(values[at]), expiresAt: Number(expiries[at]) }] as const),
  );
}

export function closeDumps(): void {
  for (const redis of clients.values()) redis.disconnect();
  clients.clear();
}

async function answersOf(redis: Redis, commands: readonly (readonly string[])[]): Promise<unknown[]> {
  if (commands.length === 0) return [];
  const answers = await redis.pipeline(commands.map(command => [...command])).exec();
  return (answers ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/** The order of members of sets and hashes means nothing. */
function canonical(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(value);
}

/**
 * What of the first is not as it was in the second. Left out is the bookkeeping that any request may do: Idempotency-Keys, rates,
 * the idle time of a browser session; what goes by itself: leases by which replicas take turns, events on their way from outbox
 * to feed (an event is never without a record that has changed); and what is over because its time is.
 */
export function changesBetween(before: Dump, after: Dump, now: number): string[] {
  const goesByItself = (key: string) => /:(lease|idem|limit|claim|feed|fed):|:(cursor|events)$/.test(key);
  const changed = [...before].filter(([key, { value, expiresAt }]) => {
    const later = after.get(key);
    if (later === undefined) return expiresAt < 0 || expiresAt > now;
    if (key.includes(':bs:')) return false;
    return later.value !== value || later.expiresAt !== expiresAt;
  });
  const added = [...after].filter(([key]) => !before.has(key));
  return [...changed, ...added].map(([key]) => key).filter(key => !goesByItself(key));
}
