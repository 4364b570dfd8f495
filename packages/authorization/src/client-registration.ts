import type { ClientRegistration } from './client-authentication.ts';
import type { ProviderConfig } from './provider-config.ts';
import { assertPkceSupport, type MetadataCache, type ServerMetadata } from './server-metadata.ts';

/**
 * Metadata for requests: explicit endpoints may lack an issuer, and a device flow may lack an
 * authorization endpoint.
 */
export type EndpointMetadata = Omit<ServerMetadata, 'issuer' | 'authorization_endpoint'> &
  Partial<Pick<ServerMetadata, 'issuer' | 'authorization_endpoint'>>;

/** A client at an authorization server, with the metadata of that server. */
export interface ResolvedClient {
  readonly registration: ClientRegistration;
  /** Callbacks and ID tokens must match its `issuer`. */
  readonly metadata: EndpointMetadata;
  /** Default resource (RFC 8707) of every token. */
  readonly resource?: string;
}

/**
 * The source of a provider's registration: the configuration, or discovery and registration at run time. Caches results, but
 * never failures.
 */
export interface ClientRegistrationSource {
  /** The issuer, if it is known without a request. */
  readonly issuer: string | undefined;
  /**
   * Returns the metadata without registering a client.
   * @throws {AuthorizationError}
   */
  metadata(): Promise<EndpointMetadata>;
  /**
   * Returns the registration for a new grant. Checks the authorization server before it registers a client.
   * @throws {AuthorizationError} also `resource_not_listed`
   */
  resolveForNewGrant(redirectUri: URL): Promise<ResolvedClient>;
  /**
   * Returns the registration of this redirect URI. It stays the same while tokens issued to it exist, because they are
   * useless to another registration.
   * @throws {AuthorizationError}
   */
  resolve(redirectUri: URL): Promise<ResolvedClient>;
  /** Removes a client that Postern registered, so that the next use registers another. Does nothing for a configured client. */
  forget(redirectUri: URL, clientId: string): Promise<void>;
}

/** Returns the registration that the operator configured. */
export function configuredRegistration(config: ProviderConfig, cache: MetadataCache): ClientRegistrationSource {
  const { clientId, issuer } = config;
  if (clientId === undefined) throw new TypeError(`provider ${config.name} has no clientId`);
  const registration: ClientRegistration = { ...config, clientId };
  const explicit = explicitEndpoints(config);

  async function metadata(): Promise<EndpointMetadata> {
    if (explicit) return explicit;
    if (issuer === undefined) throw new TypeError('a provider without endpoints has an issuer');
    const found = await cache.get({ ...config, issuer });
    assertPkceSupport(found, config.allowMissingPkceMetadata);
    return { ...found, ...configuredEndpoints(config) };
  }

  const resolve = async () => ({ registration, metadata: await metadata() });
  return { issuer, metadata, resolve, resolveForNewGrant: resolve, forget: async () => {} };
}

/** Returns the configured endpoints. Configuring them states that the authorization server supports PKCE. */
export function explicitEndpoints(config: ProviderConfig): EndpointMetadata | undefined {
  const { authorizationEndpoint, tokenEndpoint, jwksUri, issuer, tenants } = config;
  if (tokenEndpoint === undefined) return undefined;
  return {
    token_endpoint: tokenEndpoint,
    ...(authorizationEndpoint !== undefined && { authorization_endpoint: authorizationEndpoint }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
    ...(issuer !== undefined && { issuer }),
    ...(tenants !== undefined && { tenants }),
    ...configuredEndpoints(config),
  };
}

/** Returns the configured endpoints that override discovery. */
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
