import type { IdentityProviderConfig, ProviderConfig, ProviderRegistry } from '@postern/authorization';
import type { OutboundLog, Whose } from './outbound-log.ts';

export const identityProviderAt = ({ name, issuer }: IdentityProviderConfig): Whose => ({
  target: 'identity_provider',
  name,
  host: new URL(issuer).host,
});

/** The same providers; what they are asked in vain is logged. */
export function watchedProviders(
  registry: ProviderRegistry,
  configs: readonly ProviderConfig[],
  log: OutboundLog,
): ProviderRegistry {
  const watched = new Map(
    configs.flatMap(({ name, issuer, tokenEndpoint, mcpResource }) => {
      const provider = registry.get(name);
      const url = issuer ?? tokenEndpoint ?? mcpResource;
      const whose = { target: 'provider', name, ...(url === undefined ? {} : { host: new URL(url).host }) } as const;
      return provider === undefined ? [] : [[name, log.watched(whose, provider)] as const];
    }),
  );
  return { ...registry, get: name => watched.get(name) };
}
