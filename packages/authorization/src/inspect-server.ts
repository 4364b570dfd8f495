import { createPublicKey } from 'node:crypto';
import * as z from 'zod';
import { AuthorizationError, fromLibraryError } from './authorization-error.ts';
import { type ClientCredentials, clientAuthenticationOf } from './client-authentication.ts';
import { configuredRegistration, explicitEndpoints } from './client-registration.ts';
import { foreignDocument, jsonMembers } from './foreign-document.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { OutboundError } from './outbound/outbound-policy.ts';
import type { ProviderConfig } from './provider-config.ts';
import { createProtectedResources } from './registration/protected-resource-metadata.ts';
import { remoteServerMetadata } from './registration/remote-registration.ts';
import { createMetadataCache, type EndpointMetadata } from './server-metadata.ts';
import { signInMetadata } from './sign-in.ts';

/** What an authorization server says about itself, as far as it contradicts the configuration. */
export interface ServerInspection {
  /** Number of keys that can verify signatures. Undefined if the server is not asked for ID tokens. */
  readonly usableKeys: number | undefined;
  /** Methods of client authentication that the server lists, if the configured one is missing there (RFC 8414 section 2). */
  readonly otherClientAuthentication: readonly string[] | undefined;
  /** Configured scopes that `scopes_supported` lacks. A server may leave scopes out (RFC 8414 section 2). */
  readonly unlistedScopes: readonly string[];
  /** Whether `sub` differs per client (OpenID Connect Core 1.0 section 8.1), so that no access token of another client has the same. */
  readonly hasPairwiseSubjects: boolean;
}

interface Outside {
  readonly fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Checks an identity provider as sign-in does, and fetches its keys. Sends no credential.
 * @throws {AuthorizationError} as the first sign-in would
 */
export async function inspectIdentityProvider(config: IdentityProviderConfig, p: Outside): Promise<ServerInspection> {
  const metadata = await signInMetadata(config, createMetadataCache(p));
  return {
    usableKeys: await countUsableKeys(config.accessTokens?.jwksUri ?? metadata.jwks_uri, p.fetch),
    ...claimsOf(metadata, config, config.scopes),
  };
}

/**
 * Checks a provider as the first authorization does, without registering a client. With explicit endpoints, it only looks whether the
 * token endpoint responds. Sends no credential.
 * @throws {AuthorizationError} as the first authorization would
 */
export async function inspectProvider(config: ProviderConfig, p: Outside): Promise<ServerInspection> {
  const scopes = new Set([...config.baseScopes, ...config.defaultScopes, ...Object.keys(config.scopes ?? {})]);
  const explicit = explicitEndpoints(config);
  if (explicit !== undefined) {
    await assertResponds(explicit.token_endpoint, p.fetch);
    return {
      usableKeys: undefined,
      otherClientAuthentication: undefined,
      unlistedScopes: [],
      hasPairwiseSubjects: false,
    };
  }
  const metadata = await metadataOf(config, p);
  return { usableKeys: undefined, ...claimsOf(metadata, config, [...scopes]) };
}

async function metadataOf(config: ProviderConfig, p: Outside): Promise<EndpointMetadata> {
  const metadata = createMetadataCache(p);
  const { mcpResource } = config;
  if (mcpResource === undefined) return configuredRegistration(config, metadata).metadata();
  return remoteServerMetadata({ ...config, mcpResource }, { resources: createProtectedResources(p), metadata });
}

function claimsOf(metadata: EndpointMetadata, client: ClientCredentials, scopes: readonly string[]) {
  const { token_endpoint_auth_methods_supported: methods, scopes_supported: known } = metadata;
  return {
    otherClientAuthentication: methods?.includes(clientAuthenticationOf(client)) === false ? methods : undefined,
    unlistedScopes: known === undefined ? [] : scopes.filter(scope => !known.includes(scope)),
    hasPairwiseSubjects: metadata.subject_types_supported?.every(type => type === 'pairwise') === true,
  };
}

/** A redirect or an error status shows that the server is there. */
async function assertResponds(endpoint: string, fetch: OutboundFetch): Promise<void> {
  try {
    await fetch(endpoint, { discardBody: true });
  } catch (error) {
    if (error instanceof OutboundError && error.code === 'outbound_redirect') return;
    throw fromLibraryError(error, 'provider_unavailable');
  }
}

const keySetSchema = foreignDocument({
  keys: z.array(z.looseObject({ kty: z.string(), use: z.string().nullish() })).max(1_000),
});

async function countUsableKeys(uri: string, fetch: OutboundFetch): Promise<number> {
  let response: Response;
  try {
    response = await fetch(uri, { headers: { accept: 'application/json' } });
  } catch (error) {
    throw fromLibraryError(error, 'provider_unavailable');
  }
  if (!response.ok) throw new AuthorizationError('provider_unavailable');
  const keySet = keySetSchema.safeParse(jsonMembers(await response.text()));
  if (!keySet.success) throw new AuthorizationError('invalid_metadata');
  return keySet.data.keys.filter(key => (key.use ?? 'sig') === 'sig' && isPublicKey(key)).length;
}

/** Symmetric keys are never usable: an identity provider does not publish its secret. */
function isPublicKey(key: { readonly kty: string }): boolean {
  try {
    createPublicKey({ key: { ...key }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
