import * as z from 'zod';
import { AuthorizationError } from './authorization-error.ts';
import { isEndpointUrl } from './config-values.ts';
import { type DiscoveryAlgorithm, discoverMetadata } from './metadata-discovery.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { createPromiseCache } from './promise-cache.ts';
import { protocolParameters } from './protocol-parameters.ts';

const endpointSchema = z.string().max(2000).refine(isEndpointUrl);

/** The members of RFC 8414 / OpenID Connect Discovery that we use; all others are dropped. */
const serverMetadataSchema = z.object({
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
  code_challenge_methods_supported: z.array(z.string()).exactOptional(),
  id_token_signing_alg_values_supported: z.array(z.string()).exactOptional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).exactOptional(),
  token_endpoint_auth_signing_alg_values_supported: z.array(z.string()).exactOptional(),
  dpop_signing_alg_values_supported: z.array(z.string()).exactOptional(),
  grant_types_supported: z.array(z.string()).exactOptional(),
});

export type ServerMetadata = z.infer<typeof serverMetadataSchema>;

/** An endpoint URL that carries, say, its own `redirect_uri` would compete with the one we append. */
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
   * The metadata of an issuer: read at first use, kept for a bounded time, read by one request at a time. A failure is
   * not kept.
   *
   * @throws {AuthorizationError} `metadata_mismatch` when it names any other issuer (RFC 8414 section 3.3: identical),
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
  // Before anything else of it is looked at: the rest of what another issuer says is nobody's word.
  if (typeof found['issuer'] !== 'string') throw new AuthorizationError('invalid_metadata');
  if (found['issuer'] !== issuer) throw new AuthorizationError('metadata_mismatch');
  const metadata = serverMetadataSchema.safeParse(found);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  const urls = Object.values(metadata.data).filter(value => typeof value === 'string');
  if (!isInsecure(issuer) && urls.some(isInsecure)) throw new AuthorizationError('invalid_metadata');
  // An issuer outside would otherwise decide what is sent to hosts that only we can reach.
  if (!fetch.isInside(issuer) && urls.some(url => fetch.isInside(url)))
    throw new AuthorizationError('invalid_metadata');
  return metadata.data;
}

/**
 * PKCE is sent always; here it is decided whether the authorization server will look at it.
 *
 * @throws {AuthorizationError} `pkce_unsupported` when the metadata lists methods without S256, or lists none and the
 *   operator has not opted out. There is no path that sends less.
 */
export function assertPkceSupport(metadata: ServerMetadata, allowMissing: boolean): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods === undefined ? !allowMissing : !methods.includes('S256'))
    throw new AuthorizationError('pkce_unsupported');
}
