import * as z from 'zod';
import { AuthorizationError } from './authorization-error.ts';
import { isEndpointUrl, protocolParameters } from './config-values.ts';
import { emptyCounts, foreignDocument } from './foreign-document.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { createPromiseCache, insertWellKnown, readWellKnownDocument } from './well-known-document.ts';

const endpointSchema = z.string().max(2000).refine(isEndpointUrl);

/** The members of RFC 8414 / OpenID Connect Discovery that we use; all others are dropped. */
const serverMetadataSchema = foreignDocument({
  issuer: z.string(),
  authorization_endpoint: endpointSchema.refine(hasNoProtocolParameters),
  token_endpoint: endpointSchema,
  userinfo_endpoint: endpointSchema.exactOptional(),
  jwks_uri: endpointSchema.exactOptional(),
  registration_endpoint: endpointSchema.exactOptional(),
  device_authorization_endpoint: endpointSchema.exactOptional(),
  pushed_authorization_request_endpoint: endpointSchema.exactOptional(),
  require_pushed_authorization_requests: z.boolean().exactOptional(),
  revocation_endpoint: endpointSchema.exactOptional(),
  authorization_response_iss_parameter_supported: z.boolean().exactOptional(),
  client_id_metadata_document_supported: z.boolean().exactOptional(),
  code_challenge_methods_supported: z.array(z.string()).exactOptional().meta(emptyCounts),
  claims_parameter_supported: z.boolean().exactOptional(),
  id_token_signing_alg_values_supported: z.array(z.string()).exactOptional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).exactOptional(),
  token_endpoint_auth_signing_alg_values_supported: z.array(z.string()).exactOptional(),
  dpop_signing_alg_values_supported: z.array(z.string()).exactOptional().meta(emptyCounts),
  scopes_supported: z.array(z.string()).exactOptional(),
  grant_types_supported: z.array(z.string()).exactOptional(),
  protected_resources: z.array(z.string()).exactOptional().meta(emptyCounts),
});

export type ServerMetadata = z.infer<typeof serverMetadataSchema> & {
  /** OpenID Connect RP-Initiated Logout 1.0 section 2.1. Absent if unusable: signing in does not depend on it. */
  readonly end_session_endpoint?: string;
};

/** Refuses an endpoint URL with, for example, a `redirect_uri`, which would compete with ours. */
function hasNoProtocolParameters(endpoint: string): boolean {
  const url = URL.parse(endpoint);
  return url !== null && [...url.searchParams.keys()].every(name => !protocolParameters.has(name));
}

/** Whether a URL is the development exception: plain http to this machine. */
export function isInsecure(url: string): boolean {
  return url.startsWith('http:');
}

export interface MetadataCache {
  /**
   * Returns the metadata of an issuer. Fetches it on first use, one request at a time, and caches it for a bounded time.
   * Failures are not cached.
   *
   * @throws {AuthorizationError} `metadata_mismatch` if it names any other issuer (RFC 8414 section 3.3: identical),
   *   `invalid_metadata`, `provider_unavailable`, `outbound_…`.
   */
  get(issuer: string, algorithm: DiscoveryAlgorithm): Promise<ServerMetadata>;
}

const lifetimeMs = 60 * 60 * 1000;

export function createMetadataCache(p: { fetch: OutboundFetch; now: () => number }): MetadataCache {
  const cache = createPromiseCache<ServerMetadata>({ lifetimeMs, now: p.now });
  return {
    get: (issuer, algorithm) => cache.get(`${algorithm} ${issuer}`, () => discover(issuer, algorithm, p.fetch)),
  };
}

async function discover(issuer: string, algorithm: DiscoveryAlgorithm, fetch: OutboundFetch): Promise<ServerMetadata> {
  const found = await discoverMetadata(issuer, algorithm, fetch);
  // Check this first: nothing in the metadata of another issuer can be trusted.
  if (typeof found['issuer'] !== 'string') throw new AuthorizationError('invalid_metadata');
  if (found['issuer'] !== issuer) throw new AuthorizationError('metadata_mismatch');
  const metadata = serverMetadataSchema.safeParse(found);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  const isDowngrade = (url: string) => !isInsecure(issuer) && isInsecure(url);
  // Otherwise an external issuer could direct our requests, and browsers, to internal hosts.
  const leadsInside = (url: string) => !fetch.isInside(issuer) && fetch.isInside(url);
  const mayName = (url: string) => !isDowngrade(url) && !leadsInside(url);
  const urls = Object.values(metadata.data).filter(value => typeof value === 'string');
  if (!urls.every(mayName)) throw new AuthorizationError('invalid_metadata');
  const endSession = endpointSchema.refine(mayName).safeParse(found['end_session_endpoint']);
  return { ...metadata.data, ...(endSession.success && { end_session_endpoint: endSession.data }) };
}

/**
 * Checks whether the authorization server verifies PKCE, which is always sent.
 *
 * @throws {AuthorizationError} `pkce_unsupported` if the metadata lists methods without S256, or lists none and the operator
 *   has not opted out. Requests never use a weaker method.
 */
export function assertPkceSupport(metadata: ServerMetadata, allowMissing: boolean): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods === undefined ? !allowMissing : !methods.includes('S256'))
    throw new AuthorizationError('pkce_unsupported');
}

/** The discovery URLs to try; `mcp`: all of them, in the order that MCP prescribes. */
export type DiscoveryAlgorithm = 'oidc' | 'oauth2' | 'mcp';

/**
 * Fetches the metadata of an authorization server, not yet validated. The first document that exists counts: if it is
 * unusable, discovery fails instead of trying the next URL, so an attacker gains nothing from breaking one of them.
 *
 * @throws {AuthorizationError} `invalid_metadata` if no document exists, `provider_unavailable`, `outbound_…`.
 */
async function discoverMetadata(
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
      // MCP authorization, "Authorization Server Metadata Discovery" (2025-11-25, 2026-07-28). If the issuer has no
      // path, the second and the third URL are the same.
      return new Set([oauth2, insertWellKnown(issuer, 'openid-configuration'), oidc]);
  }
}
