import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import { issuerSchema, scopeTokenSchema } from '../config-values.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';
import { createPromiseCache } from '../promise-cache.ts';
import { insertWellKnown, readWellKnownDocument } from '../well-known-document.ts';
import { resourceMetadataHint } from './resource-metadata-hint.ts';

/** What a remote MCP server says about who issues access tokens for it (RFC 9728). */
export interface ProtectedResource {
  readonly resource: string;
  /** Issuer of the authorization server to use. Still to be proven by that server's own metadata. */
  readonly issuer: string;
  /** Information for the operator; what may be requested is decided by the configuration. */
  readonly scopesSupported: readonly string[];
}

export interface ProtectedResources {
  /**
   * Metadata of a resource, kept for an hour.
   *
   * @param issuer as configured: must be one of the resource's authorization servers. Undefined: the first of them.
   * @throws {AuthorizationError} `resource_mismatch` when the metadata speaks of any other resource (RFC 9728 section
   *   3.3: identical), `metadata_mismatch` when the configured issuer is not in it, `invalid_metadata`,
   *   `provider_unavailable`, `outbound_…`.
   */
  get(resource: string, issuer: string | undefined): Promise<ProtectedResource>;
}

/** The members of RFC 9728 that we use; all others are dropped. `signed_metadata` is not asked for and not looked at. */
const metadataSchema = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string().max(2000)).min(1).max(100),
  scopes_supported: z.array(z.string()).max(1000).exactOptional(),
});
type ResourceMetadata = z.infer<typeof metadataSchema>;

const lifetimeMs = 60 * 60 * 1000;

export function createProtectedResources(p: { fetch: OutboundFetch; now: () => number }): ProtectedResources {
  const cache = createPromiseCache<ResourceMetadata>({ lifetimeMs, now: p.now });

  return {
    async get(resource, issuer) {
      const metadata = await cache.get(resource, () => discover(resource, p.fetch));
      return {
        resource,
        issuer: chosenIssuer(metadata, issuer, p.fetch),
        scopesSupported: (metadata.scopes_supported ?? []).filter(scope => scopeTokenSchema.safeParse(scope).success),
      };
    },
  };
}

/**
 * MCP's order: the place named in the challenge of the resource itself, the well-known place of the resource's path, that
 * of its host. As with authorization servers, the first document that exists is the one that counts.
 */
async function discover(resource: string, fetch: OutboundFetch): Promise<ResourceMetadata> {
  const hint = await resourceMetadataHint(resource, fetch);
  const places = new Set([
    ...(hint === undefined ? [] : [hint]),
    insertWellKnown(resource, 'oauth-protected-resource'),
    insertWellKnown(new URL(resource).origin, 'oauth-protected-resource'),
  ]);
  for (const place of places) {
    const document = await readWellKnownDocument(place, fetch);
    if (document !== undefined) return checked(document, resource);
  }
  throw new AuthorizationError('invalid_metadata');
}

function checked(document: Readonly<Record<string, unknown>>, resource: string): ResourceMetadata {
  // First of all: the rest of a document about another resource is nobody's word.
  if (document['resource'] !== resource) throw new AuthorizationError('resource_mismatch');
  const metadata = metadataSchema.safeParse(document);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  return metadata.data;
}

function chosenIssuer(
  { resource, authorization_servers: issuers }: ResourceMetadata,
  configured: string | undefined,
  { isInside }: OutboundFetch,
): string {
  if (configured !== undefined) {
    if (!issuers.includes(configured)) throw new AuthorizationError('metadata_mismatch');
    return configured;
  }
  const issuer = issuerSchema.safeParse(issuers[0]);
  if (!issuer.success) throw new AuthorizationError('invalid_metadata');
  if (resource.startsWith('https:') && !issuer.data.startsWith('https:')) {
    throw new AuthorizationError('invalid_metadata');
  }
  // A resource outside would otherwise decide which of the hosts that only we can reach is asked.
  if (isInside(issuer.data) && !isInside(resource)) throw new AuthorizationError('invalid_metadata');
  return issuer.data;
}
