import { type ClientRegistrationSource, configuredEndpoints, type EndpointMetadata } from '../client-registration.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';
import type { ProviderConfig } from '../provider-config.ts';
import { assertPkceSupport, createMetadataCache, type MetadataCache, type ServerMetadata } from '../server-metadata.ts';
import { type ClientPresentation, clientDescription } from './client-presentation.ts';
import type { ClientRegistrationStore } from './client-registration-store.ts';
import { createDynamicClientRegistration, type UnusedClient } from './dynamic-client-registration.ts';
import { createProtectedResources, type ProtectedResources } from './protected-resource-metadata.ts';

/** A registration that can be given up. */
export interface RemoteRegistration extends ClientRegistrationSource {
  /** @see DynamicClientRegistration.forget; does nothing for a client out of the configuration. */
  forget(redirectUri: URL, clientId: string): Promise<void>;
}

/** The registrations at authorization servers of remote MCP servers, by provider. No network before they are used. */
export type RemoteRegistrations = (config: ProviderConfig) => RemoteRegistration;

export function createRemoteRegistrations(p: {
  presentation: ClientPresentation;
  store: ClientRegistrationStore;
  /** For the operator's log: a client is left over at the authorization server, or was and has been deleted. */
  onUnusedClient: (client: UnusedClient) => void;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
}): RemoteRegistrations {
  const parts = { ...p, resources: createProtectedResources(p), metadata: createMetadataCache(p) };
  return config => remoteRegistration(config, parts);
}

/**
 * The registration at the authorization server that a remote MCP server names (`mcpResource`, RFC 9728): the configured one,
 * or one that Postern makes. The server may name another one day; a registration then counts for the former alone, and what
 * was begun there is not continued here, because its issuer was recorded.
 */
function remoteRegistration(
  config: ProviderConfig,
  p: Parameters<typeof createRemoteRegistrations>[0] & {
    readonly resources: ProtectedResources;
    readonly metadata: MetadataCache;
  },
): RemoteRegistration {
  const { mcpResource: resource, issuer, clientId, clientKey } = config;
  if (resource === undefined) throw new TypeError(`provider ${config.name} has no mcpResource`);
  // Otherwise the remote MCP server would decide who gets to see the client's secret.
  if (clientId !== undefined && issuer === undefined) throw new TypeError(`provider ${config.name} has no issuer`);
  const configured = clientId === undefined ? undefined : { ...config, clientId };

  const { presentation, store, fetch, now, onUnusedClient } = p;

  const dynamic = createDynamicClientRegistration({
    ...{ clientKey, store, fetch, now, onUnusedClient },
    describe: redirectUri => clientDescription(config, presentation, redirectUri),
    documentUrl: redirectUri => presentation.documentUrl(redirectUri),
  });

  const serverMetadata = async (): Promise<ServerMetadata> => {
    const found = await p.resources.get(resource, issuer);
    const metadata = await p.metadata.get(found.issuer, 'mcp');
    assertPkceSupport(metadata, config.allowMissingPkceMetadata);
    return metadata;
  };
  const withConfigured = (metadata: ServerMetadata): EndpointMetadata => ({
    ...metadata,
    ...configuredEndpoints(config),
  });

  return {
    issuer,
    metadata: async () => withConfigured(await serverMetadata()),

    async resolve(redirectUri) {
      const metadata = await serverMetadata();
      const registration = configured ?? (await dynamic.resolve(metadata, redirectUri));
      return { registration, metadata: withConfigured(metadata), resource };
    },

    async forget(redirectUri, refusedClientId) {
      if (configured === undefined) await dynamic.forget(await serverMetadata(), redirectUri, refusedClientId);
    },
  };
}
