import type { OutboundFetch } from '../outbound/outbound-fetch.ts';
import { providerConfigSchema } from '../presets/expand-preset.ts';
import { createProviderRegistry, type Grant, type Provider } from '../provider.ts';
import type { ProviderConfigInput } from '../provider-config.ts';
import { canaries } from './failure-of.ts';
import { finish } from './finish.ts';

export const redirectUri = new URL('http://127.0.0.1:1/callback/issues/tracker');

/** For tests: a provider of the registry with this configuration. */
export function providerFrom(
  changes: Partial<ProviderConfigInput>,
  p: { fetch: OutboundFetch; now?: () => number },
): Provider {
  const config = providerConfigSchema.parse({
    name: 'tracker',
    displayName: 'Tracker',
    clientId: 'postern',
    ...changes,
  });
  const found = createProviderRegistry({ providers: [config], fetch: p.fetch, now: p.now ?? Date.now }).get('tracker');
  if (!found) throw new Error('the registry does not know its provider');
  return found;
}

/** `driveAuthorization` of the testkit, which only tests may import. */
type Drive = (start: URL, user: string, options: { grantScopes?: readonly string[] }) => Promise<URL>;

/** From start to grant, as `alice`. */
export function connectBy(drive: Drive) {
  return async (
    at: Provider,
    p: { scopes?: string[]; heldScopes?: string[]; grantScopes?: string[] } = {},
  ): Promise<Grant> => {
    const { scopes = ['repo'], heldScopes, grantScopes } = p;
    const { state } = canaries;
    const start = await at.start({ redirectUri, state, scopes });
    const callbackUrl = await drive(start.authorizationUrl, 'alice', grantScopes ? { grantScopes } : {});
    return finish(at, { ...start, callbackUrl, redirectUri, state, scopes, ...(heldScopes && { heldScopes }) });
  };
}

/** Returns the members of a grant that a refresh or a revocation needs. */
export function held(grant: Grant) {
  const { accessToken, refreshToken, scopes, issuer, clientId, dpopKey } = grant;
  if (refreshToken === undefined) throw new Error('there is no refresh token');
  return {
    accessToken,
    refreshToken,
    scopes,
    redirectUri,
    issuer,
    clientId,
    ...(dpopKey !== undefined && { dpopKey }),
  };
}
