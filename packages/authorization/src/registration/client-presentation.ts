import type { ProviderConfig } from '../provider-config.ts';
import {
  type ClientDescription,
  type ClientMetadataDocument,
  clientMetadataDocument,
  publicKeySet,
} from './client-metadata.ts';

/** How the gateway presents the MCP server that a redirect URI belongs to. Pure, and the same on every replica. */
export interface ClientPresentation {
  /** Names and addresses that a person sees at the authorization server. */
  describe(redirectUri: URL): Omit<ClientDescription, 'flow' | 'jwksUri'>;
  /** Where the gateway serves {@link clientDocument}. */
  documentUrl(redirectUri: URL): URL;
  /** Where the gateway serves {@link clientKeySet}. */
  keySetUrl(redirectUri: URL): URL;
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
    description: clientDescription(config, presentation, redirectUri),
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

/** What is said of the client in a document and in a registration alike. */
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
