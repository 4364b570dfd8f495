import * as client from 'openid-client';
import * as z from 'zod';
import { AuthorizationError } from './authorization-error.ts';
import { isEndpointUrl } from './config-values.ts';
import { fromLibraryError } from './library-error.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { createPromiseCache } from './promise-cache.ts';
import { protocolParameters } from './protocol-parameters.ts';
import { discoverByMcpOrder } from './registration/mcp-discovery.ts';

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

/** Where the metadata of an issuer is looked for; `mcp`: at all places, in the order that MCP prescribes. */
export type DiscoveryAlgorithm = 'oidc' | 'oauth2' | 'mcp';

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
  const found =
    algorithm === 'mcp'
      ? await discoverByMcpOrder(issuer, fetch)
      : await discoverAtOnePlace(issuer, algorithm, unlessUnavailable(fetch));

  // openid-client compares the two as parsed URLs; the specifications ask for identical strings.
  if (found['issuer'] !== issuer) throw new AuthorizationError('metadata_mismatch');
  const metadata = serverMetadataSchema.safeParse(found);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  // An issuer on the public Internet has no business on our loopback or on unencrypted connections.
  const isInsecureUrl = (value: unknown) => typeof value === 'string' && isInsecure(value);
  if (!isInsecure(issuer) && Object.values(metadata.data).some(isInsecureUrl)) {
    throw new AuthorizationError('invalid_metadata');
  }
  return metadata.data;
}

async function discoverAtOnePlace(
  issuer: string,
  algorithm: 'oidc' | 'oauth2',
  fetch: client.CustomFetch,
): Promise<Record<string, unknown>> {
  try {
    const configuration = await client.discovery(new URL(issuer), 'unused-for-discovery', undefined, client.None(), {
      algorithm,
      execute: isInsecure(issuer) ? [client.allowInsecureRequests] : [],
      [client.customFetch]: fetch,
    });
    return { ...configuration.serverMetadata() };
  } catch (error) {
    const mismatch = error instanceof client.ClientError && error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
    throw fromLibraryError(error, mismatch ? 'metadata_mismatch' : 'invalid_metadata');
  }
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

/** Adds to a fetch: an answer of 429 or 5xx is no answer. */
export function unlessUnavailable(fetch: OutboundFetch): client.CustomFetch {
  return async (url, { body, headers, method, signal }) => {
    if (body instanceof ReadableStream || body instanceof ArrayBuffer) throw new TypeError('body is not one we send');
    const response = await fetch(url, { body: body ?? null, headers, method, ...(signal && { signal }) });
    if (response.status >= 500 || response.status === 429) throw new AuthorizationError('provider_unavailable');
    return response;
  };
}
