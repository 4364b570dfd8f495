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
