import { AuthorizationError } from './authorization-error.ts';
import type { ClientRegistration } from './client-authentication.ts';
import type { ProviderConfig } from './provider-config.ts';
import { assertPkceSupport, type EndpointMetadata, type MetadataCache, type TokenUse } from './server-metadata.ts';

/** A client at an authorization server, with the metadata of that server. */
export interface ResolvedClient {
  readonly registration: ClientRegistration;
  /** Callbacks and ID tokens must match its `issuer`. */
  readonly metadata: EndpointMetadata;
  /** Default resource (RFC 8707) of every token. */
  readonly resource?: string;
}

/** Where a code, a device code or tokens come from, as recorded when the grant began. They are useless to any other client. */
export interface GrantOrigin {
  readonly issuer: string | undefined;
  readonly redirectUri: URL;
  /** Undefined in records of releases that did not record it. */
  readonly clientId: string | undefined;
}

/**
 * The source of a provider's registration: the configuration, or discovery and registration at run time. Caches results, but
 * never failures.
 */
export interface ClientRegistrationSource {
  /** The issuer, if it is known without a request. */
  readonly issuer: string | undefined;
  /**
   * Returns the metadata for a new grant, or for one whose issuer is recorded: of this issuer, if it is still one of several.
   * @throws {AuthorizationError}
   */
  metadata(recordedIssuer?: string, use?: TokenUse): Promise<EndpointMetadata>;
  /**
   * Returns the client for a new grant. Checks the authorization server before it registers one.
   * @throws {AuthorizationError} also `resource_not_listed`
   */
  resolveForNewGrant(redirectUri: URL): Promise<ResolvedClient>;
  /**
   * Returns the client that a grant was issued to. Never registers one.
   * @param metadata of the recorded issuer
   * @throws {AuthorizationError} `client_gone`
   */
  resolve(origin: GrantOrigin, metadata: EndpointMetadata): Promise<ResolvedClient>;
  /**
   * Lets the next new grant register another client, unless this one is recent or there is no room for it. Its grants keep it.
   * @returns whether Postern has registered it and no longer uses it for new grants
   */
  retire(at: ResolvedClient, redirectUri: URL): Promise<boolean>;
  /**
   * Like `retire`, after refreshes of this client were refused since `since`: its grants have ended, and it makes room for others. Not if
   * the authorization server has issued tokens to it since then, at any replica.
   */
  giveUp(at: ResolvedClient, redirectUri: URL, since: number): Promise<boolean>;
  /**
   * Like `retire`, if the authorization server no longer knows this client, which `isKnown` asks it now and then.
   * @param isKnown resolves with undefined without a clear answer
   */
  retireIfUnknown(at: ResolvedClient, redirectUri: URL, isKnown: () => Promise<boolean | undefined>): Promise<boolean>;
  /** Notes that the authorization server has issued tokens to this client. Never rejects. */
  noteUse(at: ResolvedClient, redirectUri: URL): Promise<void>;
}

/** Returns the registration that the operator configured. */
export function configuredRegistration(config: ProviderConfig, cache: MetadataCache): ClientRegistrationSource {
  const { clientId, issuer } = config;
  if (clientId === undefined) throw new TypeError(`provider ${config.name} has no clientId`);
  const registration: ClientRegistration = { ...config, clientId };
  const explicit = explicitEndpoints(config);

  async function metadata(_recordedIssuer?: string, use?: TokenUse): Promise<EndpointMetadata> {
    if (explicit) return explicit;
    if (issuer === undefined) throw new TypeError('a provider without endpoints has an issuer');
    const server = { ...config, issuer };
    const found = await (use === undefined ? cache.get(server) : cache.getFor(use, server));
    if (use === undefined) assertPkceSupport(found, config.allowMissingPkceMetadata);
    return { ...found, ...configuredEndpoints(config) };
  }

  return {
    issuer,
    metadata,
    resolveForNewGrant: async () => ({ registration, metadata: await metadata() }),
    async resolve(origin, at) {
      if ((origin.clientId ?? clientId) !== clientId) throw clientChanged();
      return { registration, metadata: at };
    },
    retire: async () => false,
    giveUp: async () => false,
    retireIfUnknown: async () => false,
    noteUse: async () => {},
  };
}

/** The operator has configured another client, or no key for this one: perhaps by mistake, which must not end the grants of all users. */
export const clientChanged = () => new AuthorizationError('client_gone', { refuses: 'client' });

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
