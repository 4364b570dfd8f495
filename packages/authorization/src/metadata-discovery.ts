import { AuthorizationError } from './authorization-error.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { insertWellKnown, readWellKnownDocument } from './well-known-document.ts';

/** Where the metadata of an issuer is looked for; `mcp`: at all places, in the order that MCP prescribes. */
export type DiscoveryAlgorithm = 'oidc' | 'oauth2' | 'mcp';

/**
 * Finds the metadata of an authorization server, still to be validated. The first document that exists is the one that
 * counts: if it is of no use, the next place is not asked, so that nobody gains from making one of them fail.
 *
 * @throws {AuthorizationError} `invalid_metadata` when there is none, `provider_unavailable`, `outbound_…`.
 */
export async function discoverMetadata(
  issuer: string,
  algorithm: DiscoveryAlgorithm,
  fetch: OutboundFetch,
): Promise<Readonly<Record<string, unknown>>> {
  for (const url of placesOf(issuer, algorithm)) {
    const document = await readWellKnownDocument(url, fetch);
    if (document !== undefined) return document;
  }
  throw new AuthorizationError('invalid_metadata');
}

function placesOf(issuer: string, algorithm: DiscoveryAlgorithm): Iterable<string> {
  // RFC 8414 section 3.1.
  const oauth2 = insertWellKnown(issuer, 'oauth-authorization-server');
  // OpenID Connect Discovery section 4.
  const oidc = `${issuer.endsWith('/') ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`;
  switch (algorithm) {
    case 'oauth2':
      return [oauth2];
    case 'oidc':
      return [oidc];
    case 'mcp':
      // MCP authorization, "Authorization Server Metadata Discovery" (2025-11-25, 2026-07-28). Where the issuer has no
      // path, the second and the third are one.
      return new Set([oauth2, insertWellKnown(issuer, 'openid-configuration'), oidc]);
  }
}
