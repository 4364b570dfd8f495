import { type ClientRegistrationSource, configuredEndpoints, type EndpointMetadata } from '../client-registration.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';
import type { ProviderConfig } from '../provider-config.ts';
import { assertPkceSupport, type MetadataCache, type ServerMetadata } from '../server-metadata.ts';
import {
  type ClientDescription,
  type ClientMetadataDocument,
  clientMetadataDocument,
  publicKeySet,
} from './client-metadata.ts';
import type { ClientRegistrationStore } from './client-registration-store.ts';
import { createDynamicClientRegistration, type UnusedClient } from './dynamic-client-registration.ts';
import type { ProtectedResources } from './protected-resource-metadata.ts';

/** How the gateway presents the MCP server that a redirect URI belongs to. Pure, and the same on every replica. */
export interface ClientPresentation {
  /** Names and addresses that a person sees at the authorization server. */
  describe(redirectUri: URL): Omit<ClientDescription, 'flow' | 'jwksUri'>;
  /** Where the gateway serves {@link clientDocument}. */
  documentUrl(redirectUri: URL): URL;
  /** Where the gateway serves {@link clientKeySet}. */
  keySetUrl(redirectUri: URL): URL;
}

/** What registering at authorization servers of remote MCP servers needs beside the configuration. */
export interface RemoteRegistrationParts {
  readonly presentation: ClientPresentation;
  readonly store: ClientRegistrationStore;
  /** For the operator's log: a client is left over at the authorization server, or was and has been deleted. */
  onUnusedClient(client: UnusedClient): void;
}

/**
 * The registration at the authorization server that a remote MCP server names (`mcpResource`, RFC 9728): the configured one,
 * or one that Postern makes. The server may name another one day; a registration then counts for the former alone, and what
 * was begun there is not continued here, because its issuer was recorded.
 */
export function remoteRegistration(
  config: ProviderConfig,
  p: RemoteRegistrationParts & {
    readonly resources: ProtectedResources;
    readonly metadata: MetadataCache;
    readonly fetch: OutboundFetch;
    readonly now: () => number;
  },
): ClientRegistrationSource & {
  /** @see DynamicClientRegistration.forget; does nothing for a client out of the configuration. */
  forget(redirectUri: URL, clientId: string): Promise<void>;
} {
  const { mcpResource: resource, issuer, clientId, clientKey } = config;
  if (resource === undefined) throw new TypeError(`provider ${config.name} has no mcpResource`);
  // Otherwise the remote MCP server would decide who gets to see the client's secret.
  if (clientId !== undefined && issuer === undefined) throw new TypeError(`provider ${config.name} has no issuer`);
  const configured = clientId === undefined ? undefined : { ...config, clientId };

  const dynamic = createDynamicClientRegistration({
    ...p,
    clientKey,
    describe: redirectUri => description(config, p.presentation, redirectUri),
    documentUrl: redirectUri => p.presentation.documentUrl(redirectUri),
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

/**
 * The Client ID Metadata Document to serve at `presentation.documentUrl(redirectUri)`, as `application/json` and cacheable.
 * Undefined (404): the provider has no use for one, or the address is no client identifier (development without https).
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
    description: description(config, presentation, redirectUri),
  });
}

/** The JWK set to serve at `presentation.keySetUrl(redirectUri)`. Undefined (404): there is no key. */
export function clientKeySet(config: ProviderConfig): ReturnType<typeof publicKeySet> | undefined {
  const { clientKey } = config;
  if (!registersItself(config) || clientKey === undefined) return undefined;
  return publicKeySet([{ ...clientKey.jwk, alg: clientKey.algorithm }]);
}

const registersItself = ({ mcpResource, clientId }: ProviderConfig) =>
  mcpResource !== undefined && clientId === undefined;

function description(config: ProviderConfig, presentation: ClientPresentation, redirectUri: URL): ClientDescription {
  return {
    ...presentation.describe(redirectUri),
    flow: config.flow,
    ...(config.clientKey !== undefined && { jwksUri: presentation.keySetUrl(redirectUri).href }),
  };
}
