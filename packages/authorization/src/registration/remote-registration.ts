import { AuthorizationError } from '../authorization-error.ts';
import {
  type ClientRegistrationSource,
  clientChanged,
  configuredEndpoints,
  type ResolvedClient,
} from '../client-registration.ts';
import { isSameUrl } from '../issuer.ts';
import type { OutboundFetch } from '../outbound/outbound-fetch.ts';
import type { ProviderConfig } from '../provider-config.ts';
import {
  assertPkceSupport,
  createMetadataCache,
  type EndpointMetadata,
  type MetadataCache,
  type ServerMetadata,
  type TokenUse,
} from '../server-metadata.ts';
import { type ClientPresentation, clientDescription } from './client-metadata.ts';
import {
  type ClientRegistrationStore,
  createDynamicClientRegistration,
  type UnusedClient,
} from './dynamic-client-registration.ts';
import { createProtectedResources, type ProtectedResources } from './protected-resource-metadata.ts';

/** Returns a provider's registration at the authorization server of a remote MCP server. No request before first use. */
export type RemoteRegistrations = (config: ProviderConfig) => ClientRegistrationSource;

export function createRemoteRegistrations(p: {
  presentation: ClientPresentation;
  store: ClientRegistrationStore;
  /** Reports an unused client, deleted or left over, for the operator's log. */
  onUnusedClient: (client: UnusedClient) => void;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
}): RemoteRegistrations {
  const parts = { ...p, resources: createProtectedResources(p), metadata: createMetadataCache(p) };
  return config => remoteRegistration(config, parts);
}

/**
 * Creates the registration at the authorization server that a remote MCP server names (`mcpResource`, RFC 9728): the
 * configured client, or one that Postern registers. If the remote MCP server names another authorization server later,
 * registrations stay bound to the former one, and pending flows fail because their issuer is recorded.
 */
function remoteRegistration(
  config: ProviderConfig,
  p: Parameters<typeof createRemoteRegistrations>[0] & {
    readonly resources: ProtectedResources;
    readonly metadata: MetadataCache;
  },
): ClientRegistrationSource {
  const { mcpResource: resource, issuer, clientId, clientKey } = config;
  if (resource === undefined) throw new TypeError(`provider ${config.name} has no mcpResource`);
  // Otherwise the remote MCP server would decide which server receives the client secret.
  if (clientId !== undefined && issuer === undefined) throw new TypeError(`provider ${config.name} has no issuer`);
  const configured = clientId === undefined ? undefined : { ...config, clientId };

  const { presentation, store, fetch, now, onUnusedClient } = p;

  const dynamic = createDynamicClientRegistration({
    clientKey,
    store,
    fetch,
    now,
    onUnusedClient,
    describe: redirectUri => clientDescription(config, presentation, redirectUri),
    documentUrl: redirectUri => presentation.documentUrl(redirectUri),
  });

  const remote = { ...config, mcpResource: resource };
  const withConfigured = (metadata: EndpointMetadata): EndpointMetadata => ({
    ...metadata,
    ...configuredEndpoints(config),
  });

  const originOf = ({ registration, metadata }: ResolvedClient, redirectUri: URL) => ({
    issuer: metadata.issuer ?? '',
    redirectUri,
    clientId: registration.clientId,
  });

  async function metadataFor(recordedIssuer: string | undefined, use: TokenUse | undefined): Promise<EndpointMetadata> {
    if (use === undefined || recordedIssuer === undefined)
      return withConfigured(await remoteServerMetadata(remote, p, recordedIssuer));
    const at = await issuerOfTokens(recordedIssuer, remote, p.resources);
    return withConfigured(await p.metadata.getFor(use, { ...remote, issuer: at, discovery: 'mcp' }));
  }

  return {
    issuer,
    metadata: metadataFor,

    async resolveForNewGrant(redirectUri) {
      const metadata = await remoteServerMetadata(remote, p);
      // An operator who names the issuer vouches for the pair: a server need not list every resource (RFC 9728 section 4).
      if (issuer === undefined) assertListed(resource, metadata);
      const registration = configured ?? (await dynamic.register(metadata, redirectUri));
      return { registration, metadata: withConfigured(metadata), resource };
    },

    async resolve(origin, metadata) {
      if (configured !== undefined && (origin.clientId ?? clientId) === clientId)
        return { registration: configured, metadata, resource };
      // The client that served the grant before the operator configured one, or changed it.
      const registration = await dynamic.find({ ...origin, issuer: metadata.issuer ?? '' });
      if (registration !== undefined) return { registration, metadata, resource };
      // Nothing can restore a registration that is gone.
      throw configured === undefined ? new AuthorizationError('client_gone', { refuses: 'grant' }) : clientChanged();
    },

    retire: (at, redirectUri) => dynamic.retire(originOf(at, redirectUri)),
    giveUp: (at, redirectUri, since) => dynamic.giveUp(originOf(at, redirectUri), since),
    retireIfUnknown: (at, redirectUri, isKnown) => dynamic.retireIfUnknown(originOf(at, redirectUri), isKnown),
    async noteUse(at, redirectUri) {
      if (at.registration !== configured) await dynamic.noteUse(originOf(at, redirectUri));
    },
  };
}

type RemoteConfig = Pick<ProviderConfig, 'issuer' | 'metadataUrl' | 'tenants' | 'allowMissingPkceMetadata'> & {
  readonly mcpResource: string;
};

/**
 * Returns the metadata of the authorization server that a remote MCP server names.
 * @param recordedIssuer preferred if the remote MCP server still lists it
 * @throws {AuthorizationError}
 */
export async function remoteServerMetadata(
  config: RemoteConfig,
  p: { readonly resources: ProtectedResources; readonly metadata: MetadataCache },
  recordedIssuer?: string,
): Promise<ServerMetadata> {
  const found = await p.resources.get(config.mcpResource, config, recordedIssuer);
  const metadata = await p.metadata.get({ ...config, issuer: found.issuer, discovery: 'mcp' });
  assertPkceSupport(metadata, config.allowMissingPkceMetadata);
  return metadata;
}

/**
 * Returns the issuer that the remote MCP server names for tokens of `recordedIssuer`: this one if it is still listed. A document that
 * cannot be read says nothing about tokens, which go to their own issuer.
 */
async function issuerOfTokens(
  recordedIssuer: string,
  config: RemoteConfig,
  resources: ProtectedResources,
): Promise<string> {
  try {
    return (await resources.get(config.mcpResource, config, recordedIssuer)).issuer;
  } catch (error) {
    if (!(error instanceof AuthorizationError) || error.code === 'metadata_mismatch') throw error;
    return recordedIssuer;
  }
}

/**
 * Requires that the authorization server lists the resource, if it lists any. The remote MCP server chose the authorization
 * server, and nothing else proves that they belong together.
 */
function assertListed(resource: string, { protected_resources: listed }: ServerMetadata): void {
  if (listed?.some(name => isSameUrl(name, resource)) === false) throw new AuthorizationError('resource_not_listed');
}
