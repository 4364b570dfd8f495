import { AuthorizationError } from '../authorization-error.ts';
import {
  type ClientRegistrationSource,
  configuredEndpoints,
  type EndpointMetadata,
  type ResolvedClient,
} from '../client-registration.ts';
import { isSameUrl } from '../issuer.ts';
import type { OutboundFetch } from '../outbound/outbound-fetch.ts';
import type { ProviderConfig } from '../provider-config.ts';
import { assertPkceSupport, createMetadataCache, type MetadataCache, type ServerMetadata } from '../server-metadata.ts';
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
    ...{ clientKey, store, fetch, now, onUnusedClient },
    describe: redirectUri => clientDescription(config, presentation, redirectUri),
    documentUrl: redirectUri => presentation.documentUrl(redirectUri),
  });

  const serverMetadata = () => remoteServerMetadata({ ...config, mcpResource: resource }, p);
  const withConfigured = (metadata: ServerMetadata): EndpointMetadata => ({
    ...metadata,
    ...configuredEndpoints(config),
  });

  const resolve = async (redirectUri: URL): Promise<ResolvedClient> => {
    const metadata = await serverMetadata();
    const registration = configured ?? (await dynamic.resolve(metadata, redirectUri));
    return { registration, metadata: withConfigured(metadata), resource };
  };

  return {
    issuer,
    metadata: async () => withConfigured(await serverMetadata()),

    async resolveForNewGrant(redirectUri) {
      // An operator who names the issuer vouches for the pair: a server need not list every resource (RFC 9728 section 4).
      if (issuer === undefined) assertListed(resource, await serverMetadata());
      return resolve(redirectUri);
    },
    resolve,

    async forget(redirectUri, refusedClientId) {
      if (configured === undefined) await dynamic.forget(await serverMetadata(), redirectUri, refusedClientId);
    },
  };
}

/** Returns the metadata of the authorization server that a remote MCP server names. @throws {AuthorizationError} */
export async function remoteServerMetadata(
  config: Pick<ProviderConfig, 'issuer' | 'metadataUrl' | 'tenants' | 'allowMissingPkceMetadata'> & {
    readonly mcpResource: string;
  },
  p: { readonly resources: ProtectedResources; readonly metadata: MetadataCache },
): Promise<ServerMetadata> {
  const found = await p.resources.get(config.mcpResource, config);
  const metadata = await p.metadata.get({ ...config, issuer: found.issuer, discovery: 'mcp' });
  assertPkceSupport(metadata, config.allowMissingPkceMetadata);
  return metadata;
}

/**
 * Requires that the authorization server lists the resource, if it lists any. The remote MCP server chose the authorization
 * server, and nothing else proves that they belong together.
 */
function assertListed(resource: string, { protected_resources: listed }: ServerMetadata): void {
  if (listed?.some(name => isSameUrl(name, resource)) === false) throw new AuthorizationError('resource_not_listed');
}
