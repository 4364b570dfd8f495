import { AuthorizationError } from '../authorization-error.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';
import { insertWellKnown, readWellKnownDocument } from './well-known-document.ts';

/**
 * Metadata of an authorization server by the order of the MCP authorization specification ("Authorization Server
 * Metadata Discovery", 2025-11-25 and 2026-07-28): RFC 8414 with path insertion, OpenID Connect with path insertion,
 * OpenID Connect with path appending. The first document that exists is the one that counts: if it is of no use, the next
 * place is not asked, so that nobody gains from making one of them fail.
 *
 * @throws {AuthorizationError} `invalid_metadata` when there is none, `provider_unavailable`, `outbound_…`.
 */
export async function discoverByMcpOrder(
  issuer: string,
  fetch: OutboundFetch,
): Promise<Readonly<Record<string, unknown>>> {
  for (const url of metadataUrls(issuer)) {
    const document = await readWellKnownDocument(url, fetch);
    if (document !== undefined) return document;
  }
  throw new AuthorizationError('invalid_metadata');
}

function metadataUrls(issuer: string): Iterable<string> {
  // Where the issuer has no path, the second and the third are one.
  return new Set([
    insertWellKnown(issuer, 'oauth-authorization-server'),
    insertWellKnown(issuer, 'openid-configuration'),
    `${issuer.endsWith('/') ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`,
  ]);
}
