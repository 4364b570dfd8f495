import { LRUCache } from 'lru-cache';
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

/** Returns the cached value of a key, or loads it. Concurrent callers share one load. Failures are not cached. */
export type PromiseCache<Value extends object> = (key: string, load: () => Promise<Value>) => Promise<Value>;

/** Keys may come from callers, so their number is limited. */
const MAX_CACHED = 1_000;

/** @param p.lifetimeMs how long a loaded value is used */
export function createPromiseCache<Value extends object>(p: {
  lifetimeMs: number;
  now: () => number;
}): PromiseCache<Value> {
  const cache = new LRUCache<string, Value, () => Promise<Value>>({
    max: MAX_CACHED,
    // lru-cache keeps an entry through the last millisecond of its ttl.
    ttl: p.lifetimeMs - 1,
    ttlResolution: 0,
    perf: p,
    fetchMethod: (_key, _stale, { context: load }) => load(),
    // A load that other keys have evicted still answers its callers.
    ignoreFetchAbort: true,
  });
  return (key, load) => cache.forceFetch(key, { context: load });
}
