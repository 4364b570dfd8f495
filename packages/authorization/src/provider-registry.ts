import type { OutboundFetch } from './outbound-fetch.ts';
import { createProvider, type Provider } from './provider.ts';
import type { ProviderConfig } from './provider-config.ts';
import { createMetadataCache } from './server-metadata.ts';

/** The configured providers by name. Building it touches no network: metadata is read when a provider is first used. */
export interface ProviderRegistry {
  get(name: string): Provider | undefined;
  readonly names: readonly string[];
}

/** @throws {TypeError} when two providers have the same name. */
export function createProviderRegistry(p: {
  providers: readonly ProviderConfig[];
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
}): ProviderRegistry {
  const metadata = createMetadataCache(p);
  const providers = new Map<string, Provider>();
  for (const config of p.providers) {
    if (providers.has(config.name)) throw new TypeError(`two providers are named ${config.name}`);
    providers.set(config.name, createProvider({ config, metadata, fetch: p.fetch, now: p.now }));
  }
  return { get: name => providers.get(name), names: [...providers.keys()] };
}
