import { type ClientRegistrationSource, configuredRegistration } from './client-registration.ts';
import { createProvider } from './configured-provider.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import type { Provider } from './provider.ts';
import type { ProviderConfig } from './provider-config.ts';
import { createMetadataCache } from './server-metadata.ts';

/** The configured providers by name. Metadata is fetched when a provider is first used. */
export interface ProviderRegistry {
  get(name: string): Provider | undefined;
  readonly names: readonly string[];
}

/** @throws {TypeError} if two providers have the same name, or if `registrationsOf` is missing for a remote MCP server */
export function createProviderRegistry(p: {
  providers: readonly ProviderConfig[];
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** For providers of remote MCP servers (`mcpResource`), which are discovered and, without `clientId`, registered. */
  registrationsOf?: (config: ProviderConfig) => ClientRegistrationSource;
}): ProviderRegistry {
  const metadata = createMetadataCache(p);
  const providers = new Map<string, Provider>();

  function registrations(config: ProviderConfig): ClientRegistrationSource {
    if (config.mcpResource === undefined) return configuredRegistration(config, metadata);
    if (p.registrationsOf === undefined) throw new TypeError(`nothing registers provider ${config.name}`);
    return p.registrationsOf(config);
  }

  for (const config of p.providers) {
    if (providers.has(config.name)) throw new TypeError(`two providers are named ${config.name}`);
    const provider = { config, registrations: registrations(config), fetch: p.fetch, now: p.now };
    providers.set(config.name, createProvider(provider));
  }
  return { get: name => providers.get(name), names: [...providers.keys()] };
}
