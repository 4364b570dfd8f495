import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import { issuerSchema, scopeTokenSchema } from '../config-values.ts';
import { foreignDocument } from '../foreign-document.ts';
import { isSameUrl } from '../issuer.ts';
import type { OutboundFetch } from '../outbound/outbound-fetch.ts';
import { OutboundError } from '../outbound/outbound-policy.ts';
import type { ProviderConfig } from '../provider-config.ts';
import { createPromiseCache, insertWellKnown, placesOf, readFirstDocument } from '../server-metadata.ts';

/** The metadata of a remote MCP server about its authorization server (RFC 9728). */
export interface ProtectedResource {
  readonly resource: string;
  /** Issuer of the authorization server. Unproven until checked against that server's own metadata. */
  readonly issuer: string;
  /** For the operator only. The configuration decides which scopes may be requested. */
  readonly scopesSupported: readonly string[];
}

type ConfiguredServer = Pick<ProviderConfig, 'issuer' | 'metadataUrl'>;

export interface ProtectedResources {
  /**
   * Returns the metadata of a resource, cached for an hour.
   *
   * @param configured the configured issuer must be one of the resource's authorization servers, or `metadataUrl` the place of the
   *   metadata of one. Without an issuer: `recordedIssuer` if it is one of them, otherwise the first
   * @throws {AuthorizationError} `resource_mismatch` if the metadata names any other resource (RFC 9728 section 3.3),
   *   `metadata_mismatch` if it does not list the configured issuer, `invalid_metadata`, `provider_unavailable`, `outbound_…`.
   */
  get(resource: string, configured: ConfiguredServer, recordedIssuer?: string): Promise<ProtectedResource>;
}

/** The members of RFC 9728 that we use; all others are dropped. `signed_metadata` is ignored. */
const metadataSchema = foreignDocument({
  resource: z.string(),
  authorization_servers: z.array(z.string().max(2000)).min(1).max(100),
  scopes_supported: z.array(z.string()).max(1000).optional(),
});
type ResourceMetadata = z.infer<typeof metadataSchema>;

const lifetimeMs = 60 * 60 * 1000;

export function createProtectedResources(p: { fetch: OutboundFetch; now: () => number }): ProtectedResources {
  const cache = createPromiseCache<ResourceMetadata>({ lifetimeMs, now: p.now });

  return {
    async get(resource, configured, recordedIssuer) {
      const metadata = await cache(resource, () => discover(resource, p.fetch));
      return {
        resource,
        issuer: chosenIssuer(metadata, { ...configured, recordedIssuer }, p.fetch),
        scopesSupported: (metadata.scopes_supported ?? []).filter(scope => scopeTokenSchema.safeParse(scope).success),
      };
    },
  };
}

/**
 * Fetches the metadata in MCP's order: the URL in the challenge of the resource, the well-known URL of its path, then the
 * well-known URL of its host.
 */
async function discover(resource: string, fetch: OutboundFetch): Promise<ResourceMetadata> {
  const hint = await resourceMetadataHint(resource, fetch);
  const places = new Set([
    ...(hint === undefined ? [] : [hint]),
    insertWellKnown(resource, 'oauth-protected-resource'),
    insertWellKnown(new URL(resource).origin, 'oauth-protected-resource'),
  ]);
  return checked(await readFirstDocument(places, 'resource', fetch), resource);
}

function checked(document: Readonly<Record<string, unknown>>, resource: string): ResourceMetadata {
  // Check this first: nothing in a document about another resource can be trusted.
  if (!isSameUrl(String(document['resource']), resource)) throw new AuthorizationError('resource_mismatch');
  const metadata = metadataSchema.safeParse(document);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  return metadata.data;
}

function chosenIssuer(
  { resource, authorization_servers: issuers }: ResourceMetadata,
  { issuer: configured, metadataUrl, recordedIssuer }: ConfiguredServer & { recordedIssuer: string | undefined },
  { isInside }: OutboundFetch,
): string {
  if (configured !== undefined) {
    if (!issuers.some(listed => isSameUrl(listed, configured) || isServedAt(metadataUrl, listed)))
      throw new AuthorizationError('metadata_mismatch');
    return configured;
  }
  // A grant stays with its issuer wherever in the list that is.
  const recorded = recordedIssuer === undefined ? undefined : issuers.find(listed => isSameUrl(listed, recordedIssuer));
  const issuer = issuerSchema.safeParse(recorded ?? issuers[0]);
  if (!issuer.success) throw new AuthorizationError('invalid_metadata');
  if (resource.startsWith('https:') && !issuer.data.startsWith('https:')) {
    throw new AuthorizationError('invalid_metadata');
  }
  // Otherwise an external resource could direct our requests to internal hosts.
  if (isInside(issuer.data) && !isInside(resource)) throw new AuthorizationError('invalid_metadata');
  return issuer.data;
}

/** Whether the operator names a place of this issuer's metadata: such an issuer's metadata names another text. */
function isServedAt(metadataUrl: string | undefined, listed: string): boolean {
  const issuer = issuerSchema.safeParse(listed);
  return (
    metadataUrl !== undefined &&
    issuer.success &&
    [...placesOf({ issuer: issuer.data, discovery: 'mcp' })].includes(metadataUrl)
  );
}

/**
 * Returns the metadata URL of a remote MCP server: `resource_metadata` in the `WWW-Authenticate` challenge (RFC 9728 section
 * 5.1) to a request without a token. The request is a JSON-RPC ping, which has no side effect.
 *
 * Only a URL on the server's own origin counts. Any response other than a 401 gives no hint, also a redirect or a failure: the
 * requests for the document decide whether the server is reachable.
 */
async function resourceMetadataHint(resource: string, fetch: OutboundFetch): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetch(resource, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
  const challenge = response.status === 401 ? response.headers.get('www-authenticate') : null;
  const url = URL.parse(challenge === null ? '' : (resourceMetadataOf(challenge) ?? ''));
  if (url === null || url.origin !== new URL(resource).origin || url.username !== '' || url.password !== '') {
    return undefined;
  }
  return url.href;
}

/**
 * Matches an authentication parameter (RFC 9110 section 11.2). A quoted value is consumed whole, so text inside it is never a
 * parameter. A match must start at the start of a name, otherwise a long name without a value would take quadratic time.
 */
const parameter = /(?<![\w!#$%&'*+.^`|~-])([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

function resourceMetadataOf(challenge: string): string | undefined {
  for (const [, name = '', quoted, token] of challenge.matchAll(parameter)) {
    if (name.toLowerCase() === 'resource_metadata') return quoted?.replaceAll(/\\(.)/g, '$1') ?? token;
  }
  return undefined;
}
