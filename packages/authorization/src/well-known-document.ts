import { AuthorizationError, fromLibraryError, isPassing } from './authorization-error.ts';
import { type JsonMembers, jsonMembers } from './json-members.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';

/**
 * Returns the first document that names its owner: a JSON object whose member `names` is a text. Anything else that a host serves
 * at a place is not the document, and the next place is tried: an error status, a login page, `{}`, a redirect elsewhere.
 *
 * This gives an attacker nothing, because all places are on the owner's own origin, and the caller refuses a document that names
 * another owner. Breaking one place leads only to what the same origin publishes about the same owner at the next. A document
 * that names an owner decides, even if it is wrong: the next place never replaces it. The host decides too if it does not respond
 * at all, so that an unreachable host costs one timeout.
 *
 * @throws {AuthorizationError} `provider_unavailable` after a 408, 425, 429, 5xx or no response, `outbound_…`, `invalid_metadata`.
 */
export async function readFirstDocument(
  places: Iterable<string>,
  names: string,
  fetch: OutboundFetch,
): Promise<JsonMembers> {
  const failures: AuthorizationError[] = [];
  for (const place of places) {
    const read = await readPlace(place, names, fetch);
    if (!(read instanceof AuthorizationError)) return read;
    failures.push(read);
  }
  throw (
    failures.find(({ code }) => code === 'provider_unavailable') ??
    failures.find(({ code }) => code !== 'invalid_metadata') ??
    new AuthorizationError('invalid_metadata')
  );
}

async function readPlace(
  place: string,
  names: string,
  fetch: OutboundFetch,
): Promise<JsonMembers | AuthorizationError> {
  let response: Response;
  try {
    // Some hosts redirect to add or drop a trailing slash. The caller checks the owner that the document names.
    response = await fetch(place, { headers: { accept: 'application/json' }, followsWithinOrigin: true });
  } catch (error) {
    const failure = fromLibraryError(error, 'invalid_metadata');
    if (failure.code === 'provider_unavailable') throw failure;
    return failure;
  }
  const { status } = response;
  if (isPassing(status)) return new AuthorizationError('provider_unavailable', { status });
  const members = response.ok ? jsonMembers(await response.text()) : undefined;
  return typeof members?.[names] === 'string' ? members : new AuthorizationError('invalid_metadata');
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
