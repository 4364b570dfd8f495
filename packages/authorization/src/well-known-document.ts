import { AuthorizationError } from './authorization-error.ts';
import { fromLibraryError } from './library-error.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { jsonMembers } from './token-answer.ts';

/**
 * Reads a JSON object from a place where it may or may not be.
 *
 * Undefined: there is none. That is a 4xx, and also a 200 whose body is no JSON object, because hosts that serve an
 * application answer every unknown path with its page.
 *
 * @throws {AuthorizationError} `provider_unavailable` (429, 5xx, no answer), `outbound_…`, `invalid_metadata` for a 2xx
 *   other than 200.
 */
export async function readWellKnownDocument(
  url: string,
  fetch: OutboundFetch,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  let response: Response;
  try {
    // Hosts that add or drop a slash at the end answer so. What counts is the issuer that the document names.
    response = await fetch(url, { headers: { accept: 'application/json' }, followsWithinOrigin: true });
  } catch (error) {
    throw fromLibraryError(error, 'invalid_metadata');
  }
  if (response.status >= 500 || response.status === 429) throw new AuthorizationError('provider_unavailable');
  if (response.status >= 400) return undefined;
  if (response.status !== 200) throw new AuthorizationError('invalid_metadata');
  return jsonMembers(await response.text());
}

/** RFC 8414 section 3.1, RFC 9728 section 3.1: the well-known part goes between host and path; no slash at the end. */
export function insertWellKnown(identifier: string, suffix: string): string {
  const url = new URL(identifier);
  const path = url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname;
  return `${url.origin}/.well-known/${suffix}${path}${url.search}`;
}
