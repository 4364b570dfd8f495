import { AuthorizationError, fromLibraryError } from './authorization-error.ts';
import { jsonMembers } from './json-members.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';

/**
 * Fetches a JSON object from a URL that may not exist. Returns undefined for a 4xx, and for a 200 whose body is not a JSON
 * object, because hosts of single-page applications serve the same HTML page for every unknown path.
 *
 * @throws {AuthorizationError} `provider_unavailable` (429, 5xx, no response), `outbound_…`, `invalid_metadata` for a 2xx
 *   other than 200.
 */
export async function readWellKnownDocument(
  url: string,
  fetch: OutboundFetch,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  let response: Response;
  try {
    // Some hosts redirect to add or drop a trailing slash. The caller checks the issuer that the document names.
    response = await fetch(url, { headers: { accept: 'application/json' }, followsWithinOrigin: true });
  } catch (error) {
    throw fromLibraryError(error, 'invalid_metadata');
  }
  if (response.status >= 500 || response.status === 429) throw new AuthorizationError('provider_unavailable');
  if (response.status >= 400) return undefined;
  if (!response.ok) throw new AuthorizationError('invalid_metadata');
  return jsonMembers(await response.text());
}

/** Inserts the well-known path between host and path, without a trailing slash (RFC 8414 section 3.1, RFC 9728 section 3.1). */
export function insertWellKnown(identifier: string, suffix: string): string {
  const url = new URL(identifier);
  const path = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname;
  return `${url.origin}/.well-known/${suffix}${path}${url.search}`;
}

/** Caches values for a bounded time. Concurrent callers share one load. */
export interface PromiseCache<Value> {
  /** Returns the cached value, or loads it. Failures are not cached. */
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  /** Number of cached values. */
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

      // Keys may come from callers, so remove expired entries that are never requested again.
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
