import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { AuthorizationError, fromLibraryError } from './authorization-error.ts';
import { authorizationEndpointSchema, isEndpointUrl } from './config-values.ts';
import { emptyCounts, foreignDocument, type JsonMembers, jsonMembers } from './foreign-document.ts';
import { isSameUrl } from './issuer.ts';
import { isPassing, type OutboundFetch } from './outbound/outbound-fetch.ts';

const endpointSchema = z.string().max(2000).refine(isEndpointUrl);

const tokenMembers = { issuer: z.string(), token_endpoint: endpointSchema };
const revocationMembers = { ...tokenMembers, revocation_endpoint: endpointSchema.optional() };

/** The members of RFC 8414 / OpenID Connect Discovery that we use; all others are dropped. */
const serverMetadataSchema = foreignDocument({
  ...revocationMembers,
  authorization_endpoint: authorizationEndpointSchema,
  userinfo_endpoint: endpointSchema.optional(),
  jwks_uri: endpointSchema.optional(),
  registration_endpoint: endpointSchema.optional(),
  device_authorization_endpoint: endpointSchema.optional(),
  pushed_authorization_request_endpoint: endpointSchema.optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
  code_challenge_methods_supported: z.array(z.string()).optional().meta(emptyCounts),
  claims_parameter_supported: z.boolean().optional(),
  id_token_signing_alg_values_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_signing_alg_values_supported: z.array(z.string()).optional(),
  dpop_signing_alg_values_supported: z.array(z.string()).optional().meta(emptyCounts),
  scopes_supported: z.array(z.string()).optional(),
  subject_types_supported: z.array(z.string()).optional(),
  grant_types_supported: z.array(z.string()).optional(),
  protected_resources: z.array(z.string()).optional().meta(emptyCounts),
});

export type ServerMetadata = z.infer<typeof serverMetadataSchema> & {
  /** OpenID Connect RP-Initiated Logout 1.0 section 2.1. Absent if unusable: signing in does not depend on it. */
  readonly end_session_endpoint?: string;
  /** The configured tenants of an issuer with `{tenantid}`. */
  readonly tenants?: readonly string[];
};

/** Metadata for requests: explicit endpoints may lack an issuer, and not every request needs an authorization endpoint. */
export type EndpointMetadata = Omit<ServerMetadata, 'issuer' | 'authorization_endpoint'> &
  Partial<Pick<ServerMetadata, 'issuer' | 'authorization_endpoint'>>;

/** A request with the tokens of a grant that exists. */
export type TokenUse = 'refresh' | 'revocation';

const schemasOfUses = { refresh: foreignDocument(tokenMembers), revocation: foreignDocument(revocationMembers) };

/** Whether a URL is the development exception: plain http to this machine. */
export function isInsecure(url: string): boolean {
  return url.startsWith('http:');
}

/** An authorization server, and where its metadata is. */
export interface AuthorizationServer {
  readonly issuer: string;
  /** The place of the metadata below the issuer; `mcp`: all of them, in the order that MCP prescribes. Default: OpenID, then RFC 8414. */
  readonly discovery?: 'oidc' | 'oauth2' | 'mcp' | undefined;
  /** The only place of the metadata. The operator vouches for the pair of issuer and place. */
  readonly metadataUrl?: string | undefined;
  readonly tenants?: readonly string[] | undefined;
}

export interface MetadataCache {
  /**
   * Returns the metadata of an authorization server. Fetches it on first use, one request at a time, and caches it for a bounded
   * time. Failures are not cached. `issuer` keeps the text of the metadata, which callbacks and ID tokens repeat.
   *
   * @throws {AuthorizationError} `metadata_mismatch` if it names any other issuer (RFC 8414 section 3.3), `invalid_metadata`,
   *   `provider_unavailable`, `outbound_…`.
   */
  get(server: AuthorizationServer): Promise<ServerMetadata>;
  /**
   * As `get`, but reads from invalid metadata the members that the request needs: other members must not end a grant.
   * @throws {AuthorizationError}
   */
  getFor(use: TokenUse, server: AuthorizationServer): Promise<EndpointMetadata>;
}

const lifetimeMs = 60 * 60 * 1000;

export function createMetadataCache(p: { fetch: OutboundFetch; now: () => number }): MetadataCache {
  const whole = createPromiseCache<ServerMetadata>({ lifetimeMs, now: p.now });
  const parts = createPromiseCache<EndpointMetadata>({ lifetimeMs, now: p.now });
  const keyOf = ({ issuer, discovery, metadataUrl }: AuthorizationServer, use?: TokenUse) =>
    JSON.stringify([issuer, discovery, metadataUrl, use]);
  const withTenants = <Found>(found: Found, { tenants }: AuthorizationServer) =>
    tenants === undefined ? found : { ...found, tenants };

  async function get(server: AuthorizationServer): Promise<ServerMetadata> {
    const found = await whole(keyOf(server), () => discover(server, serverMetadataSchema, p.fetch));
    return withTenants(found, server);
  }

  return {
    get,
    async getFor(use, server) {
      try {
        return await get(server);
      } catch (error) {
        if (!(error instanceof AuthorizationError && error.code === 'invalid_metadata')) throw error;
        const found = await parts(keyOf(server, use), () => discover(server, schemasOfUses[use], p.fetch));
        return withTenants(found, server);
      }
    },
  };
}

async function discover<Metadata extends object>(
  server: AuthorizationServer,
  schema: z.ZodType<Metadata>,
  fetch: OutboundFetch,
): Promise<Metadata & { end_session_endpoint?: string }> {
  const { issuer, metadataUrl } = server;
  const found = await readFirstDocument(placesOf(server), 'issuer', fetch);
  // Check this first: nothing in the metadata of another issuer can be trusted.
  if (!isSameUrl(String(found['issuer']), issuer)) throw new AuthorizationError('metadata_mismatch');
  const metadata = schema.safeParse(found);
  if (!metadata.success) throw new AuthorizationError('invalid_metadata');
  const source = metadataUrl ?? issuer;
  const isDowngrade = (url: string) => !isInsecure(source) && isInsecure(url);
  // Otherwise an external issuer could direct our requests, and browsers, to internal hosts.
  const leadsInside = (url: string) => !fetch.isInside(source) && fetch.isInside(url);
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
export function assertPkceSupport(metadata: EndpointMetadata, allowMissing: boolean): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods === undefined ? !allowMissing : !methods.includes('S256'))
    throw new AuthorizationError('pkce_unsupported');
}

/** Returns the URLs at which metadata may be, in the order to try them. */
export function placesOf({ issuer, discovery, metadataUrl }: AuthorizationServer): Iterable<string> {
  if (metadataUrl !== undefined) return [metadataUrl];
  // RFC 8414 section 3.1.
  const oauth2 = insertWellKnown(issuer, 'oauth-authorization-server');
  // OpenID Connect Discovery section 4.
  const oidc = `${issuer.endsWith('/') ? issuer.slice(0, -1) : issuer}/.well-known/openid-configuration`;
  switch (discovery) {
    case undefined:
      return [oidc, oauth2];
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
