import { AuthorizationError } from './authorization-error.ts';
import { scopeTokenSchema } from './config-values.ts';
import type { ProviderConfig } from './provider-config.ts';

/** Which scopes are requested at a provider when an MCP server asks for some. */
export function scopePolicy(config: ProviderConfig): { requested(scopes: readonly string[]): string[] } {
  const { baseScopes, defaultScopes, scopes: described } = config;
  // Claims of an ID token are asked for with this scope (OpenID Connect Core 3.1.2.1).
  const always = config.account?.from === 'id_token' ? ['openid', ...baseScopes] : baseScopes;
  const allowed = described && new Set([...always, ...defaultScopes, ...Object.keys(described)]);

  return {
    requested(scopes) {
      const asked = scopes.length > 0 ? scopes : defaultScopes;
      for (const scope of asked) {
        if (!scopeTokenSchema.safeParse(scope).success || allowed?.has(scope) === false) {
          throw new AuthorizationError('scope_not_allowed');
        }
      }
      return [...new Set([...always, ...asked])];
    },
  };
}
