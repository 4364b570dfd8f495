import type { JWK } from 'jose';
import { isLoopbackHost } from '../outbound/outbound-policy.ts';
import type { ProviderConfig } from '../provider-config.ts';

/** How the gateway presents the MCP server of a redirect URI. Pure, and identical on every replica. */
export interface ClientPresentation {
  /** Names and addresses that the authorization server shows to users. */
  describe(redirectUri: URL): Omit<ClientDescription, 'flow' | 'jwksUri'>;
  /** URL at which the gateway serves {@link clientDocument}. */
  documentUrl(redirectUri: URL): URL;
  /** URL at which the gateway serves {@link clientKeySet}. */
  keySetUrl(redirectUri: URL): URL;
}

/**
 * Builds the Client ID Metadata Document for `presentation.documentUrl(redirectUri)`, served as cacheable `application/json`.
 * Undefined (404) if the provider does not use one, or if the URL is not a client identifier (development without https).
 */
export function clientDocument(
  config: ProviderConfig,
  presentation: ClientPresentation,
  redirectUri: URL,
): ClientMetadataDocument | undefined {
  const documentUrl = presentation.documentUrl(redirectUri);
  if (!registersItself(config) || documentUrl.protocol !== 'https:') return undefined;
  return clientMetadataDocument({
    documentUrl,
    redirectUri,
    description: clientDescription(config, presentation, redirectUri),
  });
}

/** Builds the JWK set for `presentation.keySetUrl(redirectUri)`. Undefined (404) without a key. */
export function clientKeySet(config: ProviderConfig): ReturnType<typeof publicKeySet> | undefined {
  const { clientKey } = config;
  if (!registersItself(config) || clientKey === undefined) return undefined;
  return publicKeySet([{ ...clientKey.jwk, alg: clientKey.algorithm }]);
}

const registersItself = ({ mcpResource, clientId }: ProviderConfig) =>
  mcpResource !== undefined && clientId === undefined;

/** Describes the client, for its document and its registration. */
export function clientDescription(
  config: ProviderConfig,
  presentation: ClientPresentation,
  redirectUri: URL,
): ClientDescription {
  return {
    ...presentation.describe(redirectUri),
    flow: config.flow,
    ...(config.clientKey !== undefined && { jwksUri: presentation.keySetUrl(redirectUri).href }),
  };
}

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

/** How Postern presents itself to authorization servers at which the operator did not register it. */
export interface ClientDescription {
  /** Shown to users by the authorization server: the registered name of the MCP server, not of Postern. */
  readonly clientName: string;
  readonly clientUri?: string | undefined;
  readonly logoUri?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly termsOfServiceUri?: string | undefined;
  /** https URL of the public keys. With it, Postern authenticates by `private_key_jwt`. */
  readonly jwksUri?: string | undefined;
  readonly flow?: 'redirect' | 'device' | undefined;
}

/** Members of RFC 7591 section 2, for registration requests and Client ID Metadata Documents. */
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

/** Builds the metadata with a single redirect URI: a registration belongs to one MCP server at one provider (COAT, S16). */
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
 * @throws {TypeError} if the URL is not a client identifier (section 3), or has another origin than the redirect URI
 */
function clientMetadataDocument(p: {
  documentUrl: URL;
  redirectUri: URL;
  description: ClientDescription;
}): ClientMetadataDocument {
  if (!isClientIdUrl(p.documentUrl)) throw new TypeError('a client identifier is an https URL with only a path');
  if (p.documentUrl.origin !== p.redirectUri.origin) throw new TypeError('a client redirects to its own origin');
  return {
    client_id: p.documentUrl.href,
    ...clientMetadata(p.description, p.redirectUri),
    token_endpoint_auth_method: p.description.jwksUri === undefined ? 'none' : 'private_key_jwt',
  };
}

/** Whether a URL can be a client identifier. The draft allows a query, which we refuse. `URL` has resolved dot segments. */
export function isClientIdUrl(url: URL): boolean {
  const { protocol, pathname, search, hash, username, password } = url;
  return protocol === 'https:' && pathname !== '/' && `${search}${hash}${username}${password}` === '';
}

/** Builds the key set for `jwksUri`, with only the public members of the keys. */
export function publicKeySet(keys: readonly JWK[]): { keys: JWK[] } {
  return { keys: keys.map(publicPart) };
}

function publicPart({ kty, crv, x, y, n, e, kid, alg }: JWK): JWK {
  const members = Object.entries({ kty, crv, x, y, n, e, kid, alg }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(members), use: 'sig' };
}
