/** Values that are loaded on demand: by one caller for all that ask meanwhile, kept for a bounded time. */
export interface PromiseCache<Value> {
  /** The value under a key; `load` runs only where there is none. A failure is not kept. */
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  /** How many values are kept. */
  readonly size: number;
}

export function createPromiseCache<Value>(p: { lifetimeMs: number; now: () => number }): PromiseCache<Value> {
  const entries = new Map<string, { readonly value: Promise<Value>; readonly until: number }>();

  return {
    get size() {
      return entries.size;
    },

    get(key, load) {
      const entry = entries.get(key);
      if (entry && entry.until > p.now()) return entry.value;

      // Keys may come from outside; what nobody asks for again must not stay for ever.
      const now = p.now();
      for (const [other, { until }] of entries) if (until <= now) entries.delete(other);

      const value = load();
      const fresh = { value, until: now + p.lifetimeMs };
      entries.set(key, fresh);
      value.catch(() => {
        if (entries.get(key) === fresh) entries.delete(key);
      });
      return value;
    },
  };
}
