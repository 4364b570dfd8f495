import { createHash, createSecretKey, type KeyObject } from 'node:crypto';

/** Bounds of the content keys that stay in memory after a key service has unwrapped them. */
export interface ContentKeyLimits {
  /** Maximum number of keys. 0 keeps none. */
  readonly count: number;
  /** Maximum time that a key stays, in milliseconds. Use does not extend it. */
  readonly ms: number;
}

/** What a wrapped key is valid for: the key service has authenticated all three. */
export interface WrappedKey {
  readonly kid: string;
  readonly context: string;
  readonly wrapped: Uint8Array;
}

/** Content keys by wrapped key, so that a value that is read repeatedly takes one request to the key service. */
export interface ContentKeys {
  put(of: WrappedKey, key: Uint8Array): void;
  /** Concurrent calls for one wrapped key share one `unwrap`. A failed `unwrap` is not kept. */
  get(of: WrappedKey, unwrap: () => Promise<Uint8Array>): Promise<KeyObject>;
  /** Drops a key that does not open its value: the service may have returned another one. */
  drop(of: WrappedKey): void;
}

/** @param now monotonic time in milliseconds */
export function createContentKeys({ count, ms }: ContentKeyLimits, now: () => number): ContentKeys {
  /** The oldest first. Reads do not reorder it, so the order is also the order of expiry. */
  const kept = new Map<string, { readonly key: KeyObject; readonly until: number }>();
  const unwrapping = new Map<string, Promise<KeyObject>>();
  let timer: NodeJS.Timeout | undefined;

  function removeExpired(): void {
    for (const [id, { until }] of kept) {
      if (until > now()) break;
      kept.delete(id);
    }
    const [oldest] = kept.values();
    clearTimeout(timer);
    // An idle process must not keep keys longer either.
    timer = oldest === undefined ? undefined : setTimeout(removeExpired, Math.max(1, oldest.until - now())).unref();
  }

  function keep(id: string, key: KeyObject): void {
    if (count === 0 || ms === 0) return;
    kept.delete(id);
    kept.set(id, { key, until: now() + ms });
    const [oldest] = kept.keys();
    if (kept.size > count && oldest !== undefined) kept.delete(oldest);
    if (timer === undefined) removeExpired();
  }

  return {
    put: (of, key) => keep(idOf(of), createSecretKey(key)),
    async get(of, unwrap) {
      const id = idOf(of);
      const found = kept.get(id);
      if (found !== undefined && found.until > now()) return found.key;
      const underway = unwrapping.get(id) ?? unwrapOnce(id, unwrap);
      return underway;
    },
    drop: of => void kept.delete(idOf(of)),
  };

  function unwrapOnce(id: string, unwrap: () => Promise<Uint8Array>): Promise<KeyObject> {
    const underway = unwrap()
      .then(bytes => {
        const key = createSecretKey(bytes);
        keep(id, key);
        return key;
      })
      .finally(() => unwrapping.delete(id));
    unwrapping.set(id, underway);
    return underway;
  }
}

const idOf = ({ kid, context, wrapped }: WrappedKey): string =>
  createHash('sha256')
    .update(JSON.stringify([kid, context]))
    .update(wrapped)
    .digest('base64url');
