import { Redis } from 'ioredis';
import { readKeys } from '../../support/redis-dump.ts';

/** By key its value and absolute expiry. */
export type Dump = ReadonlyMap<string, { readonly value: string; readonly expiresAt: number }>;

const connections = new Map<string, Redis>();

/** Everything in a small Redis, to be taken often: the connection stays until {@link closeDumps}. */
export async function dumpQuickly(url: string): Promise<Dump> {
  const redis = connections.get(url) ?? new Redis(url);
  connections.set(url, redis);
  const keys = await readKeys(redis);
  return new Map(keys.map(({ key, value, expiresAt }) => [key, { value: JSON.stringify(value), expiresAt }] as const));
}

export function closeDumps(): void {
  for (const redis of connections.values()) redis.disconnect();
  connections.clear();
}

/**
 * What of the first is not as it was in the second. Left out is the bookkeeping that any request may do: Idempotency-Keys, rates, quotas,
 * the idle time of a browser session; what goes by itself: leases by which replicas take turns, probes, events on their way from outbox
 * to feed (an event is never without a record that has changed); and what is over because its time is.
 */
export function changesBetween(before: Dump, after: Dump, now: number): string[] {
  const goesByItself = (key: string) => /:(lease|idem|limit|quota|claim|feed|fed):|:(cursor|events|probe)$/.test(key);
  const changed = [...before].filter(([key, { value, expiresAt }]) => {
    const later = after.get(key);
    if (later === undefined) return expiresAt < 0 || expiresAt > now;
    if (key.includes(':bs:')) return false;
    return later.value !== value || later.expiresAt !== expiresAt;
  });
  const added = [...after].filter(([key]) => !before.has(key));
  return [...changed, ...added].map(([key]) => key).filter(key => !goesByItself(key));
}
