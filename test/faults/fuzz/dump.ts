import { Redis } from 'ioredis';
import { readKeys } from '../../support/redis-dump.ts';

/** Value and absolute expiry by key. */
export type Dump = ReadonlyMap<string, { readonly value: string; readonly expiresAt: number }>;

const connections = new Map<string, Redis>();

/** Returns the content of a small Redis. Fit for frequent calls: the connection stays open until {@link closeDumps}. */
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
 * Returns the keys of the first dump that are gone or changed in the second. Ignores the bookkeeping of any request: Idempotency-Keys,
 * used one-time values, rates, quotas, the idle time of a browser session. Also ignores background work: leases, probes, events on their
 * way from outbox to feed (an event always comes with a changed record), and expired keys.
 */
export function changesBetween(before: Dump, after: Dump, now: number): string[] {
  const goesByItself = (key: string) =>
    /:(lease|idem|limit|quota|claim|used|feed|fed|counts|refreshes):|:(cursor|events|probe|rps|ages)$/.test(key);
  const changed = [...before].filter(([key, { value, expiresAt }]) => {
    const later = after.get(key);
    if (later === undefined) return expiresAt < 0 || expiresAt > now;
    if (key.includes(':bs:')) return false;
    return later.value !== value || later.expiresAt !== expiresAt;
  });
  const added = [...after].filter(([key]) => !before.has(key));
  return [...changed, ...added].map(([key]) => key).filter(key => !goesByItself(key));
}
