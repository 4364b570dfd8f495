import type { Provider, ProviderRegistry } from '@postern/authorization';
import { DomainError, type ElicitationOf } from '@postern/elicitation';

/** Returns the provider that the elicitation names. @throws DomainError `unknown_provider` if it is no longer configured */
export function providerOf(
  providers: Pick<ProviderRegistry, 'get'>,
  { request }: ElicitationOf<'authorization'>,
): Provider {
  const provider = providers.get(request.provider);
  if (provider === undefined) throw new DomainError('unknown_provider', 'The provider is no longer configured.');
  return provider;
}

/**
 * Returns the duration of a lease on requests to a provider, in milliseconds. The holder sends at most two requests: it repeats
 * one after a DPoP nonce challenge, or revokes a refresh token and an access token. Half a request is margin.
 */
export function providerLeaseMs(requestLimitMs: number): number {
  return Math.ceil(requestLimitMs * 2.5);
}
