import type { ClientCredentials } from './client-authentication-config.ts';
import type { ProviderConfig } from './provider-config.ts';
import { assertPkceSupport, type MetadataCache, type ServerMetadata } from './server-metadata.ts';

/** How we are registered at an authorization server. */
export interface ClientRegistration extends ClientCredentials {
  readonly clientId: string;
}

/**
 * Metadata as used for requests: explicit endpoints may come without an issuer, and a device flow without an
 * authorization endpoint.
 */
export type EndpointMetadata = Omit<ServerMetadata, 'issuer' | 'authorization_endpoint'> &
  Partial<Pick<ServerMetadata, 'issuer' | 'authorization_endpoint'>>;

/** Who we are at an authorization server, and where that server is. */
export interface ResolvedClient {
  readonly registration: ClientRegistration;
  /** Its `issuer` is what callbacks and ID tokens are compared with. */
  readonly metadata: EndpointMetadata;
  /** Resource (RFC 8707) that every token is for, unless a request names another. */
  readonly resource?: string;
}

/**
 * Where a provider's registration comes from: the configuration, or discovery and registration at run time. Keeps answers
 * itself as long as they may be kept; a failure is not kept.
 */
export interface ClientRegistrationSource {
  /** The issuer, where it is known without asking anybody. */
  readonly issuer: string | undefined;
  /**
   * The metadata alone; nothing is registered for it.
   * @throws {AuthorizationError}
   */
  metadata(): Promise<EndpointMetadata>;
  /**
   * The registration that has this redirect URI. Tokens issued to one registration are of no use with another, so it is the
   * same for the same redirect URI as long as there are such tokens.
   * @throws {AuthorizationError}
   */
  resolve(redirectUri: URL): Promise<ResolvedClient>;
}

/** The registration that the operator made at the provider. */
export function configuredRegistration(config: ProviderConfig, cache: MetadataCache): ClientRegistrationSource {
  const { clientId, issuer, discovery = 'oidc' } = config;
  if (clientId === undefined) throw new TypeError(`provider ${config.name} has no clientId`);
  const registration: ClientRegistration = { ...config, clientId };
  const explicit = explicitEndpoints(config);

  async function metadata(): Promise<EndpointMetadata> {
    if (explicit) return explicit;
    if (issuer === undefined) throw new TypeError('a provider without endpoints has an issuer');
    const found = await cache.get(issuer, discovery);
    assertPkceSupport(found, config.allowMissingPkceMetadata);
    return { ...found, ...configuredEndpoints(config) };
  }

  return {
    issuer,
    metadata,
    resolve: async () => ({ registration, metadata: await metadata() }),
  };
}

/** Endpoints out of the configuration; whoever writes them down has decided that PKCE is understood there. */
export function explicitEndpoints(config: ProviderConfig): EndpointMetadata | undefined {
  const { authorizationEndpoint, tokenEndpoint, jwksUri, issuer } = config;
  if (tokenEndpoint === undefined) return undefined;
  return {
    token_endpoint: tokenEndpoint,
    ...(authorizationEndpoint !== undefined && { authorization_endpoint: authorizationEndpoint }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
    ...(issuer !== undefined && { issuer }),
    ...configuredEndpoints(config),
  };
}

/** Endpoints that are used whether or not discovery names them. */
export function configuredEndpoints(config: ProviderConfig): Partial<EndpointMetadata> {
  const { userinfoEndpoint, deviceAuthorizationEndpoint, pushedAuthorizationEndpoint } = config;
  return {
    ...(userinfoEndpoint !== undefined && { userinfo_endpoint: userinfoEndpoint }),
    ...(deviceAuthorizationEndpoint !== undefined && { device_authorization_endpoint: deviceAuthorizationEndpoint }),
    ...(pushedAuthorizationEndpoint !== undefined && {
      pushed_authorization_request_endpoint: pushedAuthorizationEndpoint,
    }),
  };
}
