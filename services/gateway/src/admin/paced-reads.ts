import { setTimeout as delay } from 'node:timers/promises';

/**
 * Commands to Redis that a verb sends at once. Replies to commands that were sent together arrive together, and the event loop works on
 * all of them before it turns to the requests of users and MCP servers. So few records take about a quarter of a millisecond.
 */
const AT_ONCE = 4;
/** Pause before the next commands, in milliseconds: the requests of users and MCP servers come first. */
const PAUSE_MS = 1;

/** Leaves the event loop to the requests of users and MCP servers, between two parts of a verb. */
export const giveWay = (): Promise<void> => delay(PAUSE_MS);

/**
 * Like `Promise.all` over the results of `work`, but a few at a time, with pauses.
 * @param atOnce more for replies that are quick to work on
 */
export async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  atOnce = AT_ONCE,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    if (at > 0) await giveWay();
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return results;
}

/**
 * Shares reads that ask every shard: operators who reload a page at once, or again and again, cost one read per period. A failed read is
 * not kept.
 * @param keptMs how long a result is used
 */
export function createSharedReads(keptMs: number, now: () => number = () => performance.now()) {
  const reads = new Map<string, { readonly at: number; readonly result: Promise<unknown> }>();
  return async function shared<Result>(name: string, read: () => Promise<Result>): Promise<Result> {
    for (const [key, { at }] of reads) if (now() - at >= keptMs) reads.delete(key);
    const known = reads.get(name);
    // Only reads of this name are stored under it.
    if (known !== undefined) return known.result as Promise<Result>;
    const result = read();
    reads.set(name, { at: now(), result });
    result.catch(() => reads.delete(name));
    return result;
  };
}
