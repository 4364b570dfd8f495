import type { JWK } from 'jose';
import { isLoopbackHost } from '../outbound-address.ts';

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** How Postern presents itself to authorization servers it was not registered at by hand. */
export interface ClientDescription {
  /** Shown to the person on the authorization server's page: the MCP server's registered name, not Postern's. */
  readonly clientName: string;
  readonly clientUri?: string | undefined;
  readonly logoUri?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly termsOfServiceUri?: string | undefined;
  /** https URL of the public keys. With it, Postern authenticates by `private_key_jwt`. */
  readonly jwksUri?: string | undefined;
  readonly flow?: 'redirect' | 'device' | undefined;
}

/** Members of RFC 7591 section 2, as they go into a registration request and into a Client ID Metadata Document. */
export interface ClientMetadata {
  readonly client_name: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly policy_uri?: string;
  readonly tos_uri?: string;
  readonly redirect_uris: readonly [string];
  readonly application_type: 'native' | 'web';
  readonly grant_types: readonly string[];
  readonly response_types: readonly ['code'];
  readonly jwks_uri?: string;
}

export interface ClientMetadataDocument extends ClientMetadata {
  readonly client_id: string;
  readonly token_endpoint_auth_method: 'none' | 'private_key_jwt';
}

/** One redirect URI and no more: a registration belongs to one MCP server at one provider (COAT, security S16). */
export function clientMetadata(description: ClientDescription, redirectUri: URL): ClientMetadata {
  const { clientName, clientUri, logoUri, policyUri, termsOfServiceUri, jwksUri, flow } = description;
  return {
    client_name: clientName,
    ...(clientUri !== undefined && { client_uri: clientUri }),
    ...(logoUri !== undefined && { logo_uri: logoUri }),
    ...(policyUri !== undefined && { policy_uri: policyUri }),
    ...(termsOfServiceUri !== undefined && { tos_uri: termsOfServiceUri }),
    redirect_uris: [redirectUri.href],
    // OpenID Connect Registration section 2: a web application has no redirect URI on loopback.
    application_type: isLoopbackHost(redirectUri.hostname) ? 'native' : 'web',
    grant_types: ['authorization_code', 'refresh_token', ...(flow === 'device' ? [deviceGrantType] : [])],
    response_types: ['code'],
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
  };
}

/**
 * The Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document section 4) that the gateway serves, as
 * JSON, at exactly `documentUrl`. Nothing in it is secret.
 *
 * @throws {TypeError} for a URL that is no client identifier (section 3), or on another origin than the redirect URI.
 */
export function clientMetadataDocument(p: {
  documentUrl: URL;
  redirectUri: URL;
  description: ClientDescription;
}): ClientMetadataDocument {
  if (!isClientIdUrl(p.documentUrl)) throw new TypeError('a client identifier is an https URL with a path alone');
  if (p.documentUrl.origin !== p.redirectUri.origin) throw new TypeError('a client redirects to its own origin');
  return {
    client_id: p.documentUrl.href,
    ...clientMetadata(p.description, p.redirectUri),
    token_endpoint_auth_method: p.description.jwksUri === undefined ? 'none' : 'private_key_jwt',
  };
}

/** `URL` has resolved dot segments already. A query is allowed by the draft and of no use to us. */
export function isClientIdUrl(url: URL): boolean {
  const { protocol, pathname, search, hash, username, password } = url;
  return protocol === 'https:' && pathname !== '/' && `${search}${hash}${username}${password}` === '';
}

/** The key set that is published at `jwksUri`: the public members of the keys alone, whatever else they have. */
export function publicKeySet(keys: readonly JWK[]): { keys: JWK[] } {
  return { keys: keys.map(publicPart) };
}

function publicPart({ kty, crv, x, y, n, e, kid, alg }: JWK): JWK {
  const members = Object.entries({ kty, crv, x, y, n, e, kid, alg }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(members), use: 'sig' };
}
