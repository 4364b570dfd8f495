import { AuthorizationError } from './authorization-error.ts';
import { type ScopeDescription, scopeTokenSchema } from './config-values.ts';
import { standardScopes } from './presets/preset.ts';
import type { ProviderConfig } from './provider-config.ts';

/** The scope rules of one provider: which scopes may be requested, and which are granted. */
export interface ScopePolicy {
  /**
   * Returns the scopes to request for the scopes of an MCP server.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  requested(scopes: readonly string[]): string[];
  /**
   * Returns the scopes to request so that `needed` is granted and `held` is kept. Omits held scopes that may no longer be
   * requested, and those that another scope implies.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  toRequest(needed: readonly string[], held: readonly string[]): string[];
  /**
   * Returns the effectively granted scopes: those of the response, those that they imply, and requested scopes that the
   * provider never reports. An absent `scope` means the requested scopes (RFC 6749 section 5.1).
   */
  granted(scope: string | undefined, asked: readonly string[]): string[];
}

/** They request an ID token and a refresh token, grant no access, and are missing in most responses. */
const neverReported = ['openid', 'offline_access'];

/** They mean the same everywhere, unless the operator describes them otherwise. */
const standard = standardScopes('openid', 'profile', 'email', 'offline_access');

/** Returns what is known of scopes to tell the user: the closed list before the descriptions, these before the standard. */
export function describedScopes({ scopeDescriptions, scopes = {} }: ProviderConfig): Record<string, ScopeDescription> {
  const own = new Map(Object.entries(scopeDescriptions));
  for (const [scope, description] of Object.entries(scopes)) own.set(scope, { ...own.get(scope), ...description });
  const known = Object.entries(standard).map(([scope, access]): [string, ScopeDescription] => [scope, { access }]);
  return Object.fromEntries([...known, ...own]);
}

export function scopePolicy(config: ProviderConfig): ScopePolicy {
  const { baseScopes, defaultScopes, scopes: described, incrementalScopes, scopeSeparator } = config;
  const implied = new Map(Object.entries(config.scopeImplies));
  const unreported = new Set([...neverReported, ...config.unreportedScopes]);
  // An ID token requires this scope (OpenID Connect Core 3.1.2.1).
  const always = config.account?.from === 'id_token' ? ['openid', ...baseScopes] : baseScopes;
  const allowed = described && new Set([...always, ...defaultScopes, ...Object.keys(described)]);

  const isScope = (text: string) => scopeTokenSchema.safeParse(text).success;
  const mayRequest = (scope: string) => isScope(scope) && allowed?.has(scope) !== false;

  /** Returns the scopes with all directly and indirectly implied scopes. */
  function closure(scopes: Iterable<string>): Set<string> {
    const closed = new Set(scopes);
    // Iterating over a set includes elements that are added during the iteration.
    for (const scope of closed) for (const further of implied.get(scope) ?? []) closed.add(further);
    return closed;
  }

  function requested(scopes: readonly string[]): string[] {
    const asked = scopes.length > 0 ? scopes : defaultScopes;
    if (!asked.every(mayRequest)) throw new AuthorizationError('scope_not_allowed');
    return [...new Set([...always, ...asked])];
  }

  /** Returns the scopes of `held` that would be lost unless requested. Of two names for one scope, it returns the first. */
  function keeping(needed: readonly string[], held: readonly string[]): string[] {
    const kept = closure(needed);
    const requestable = [...new Set(held)].filter(mayRequest);
    // The provider decides how many there are, so compare each only with scopes that imply others.
    const wider = [...requestable.entries()]
      .filter(([, scope]) => implied.has(scope))
      .map(([index, scope]) => ({ index, scope, reach: closure([scope]) }));
    return requestable.filter((scope, index) => {
      if (kept.has(scope)) return false;
      return !wider.some(other => {
        if (other.scope === scope || !other.reach.has(scope)) return false;
        return other.index < index || !closure([scope]).has(other.scope);
      });
    });
  }

  return {
    requested,

    toRequest(needed, held) {
      const asked = requested(needed);
      if (!incrementalScopes) return requested([...asked, ...keeping(asked, held)]);
      const missing = asked.filter(scope => !held.includes(scope));
      // No scope is missing, but the old grant is unusable, so the user must authorize again.
      return missing.length > 0 ? requested(missing) : asked;
    },

    granted(scope, asked) {
      const separator = scopeSeparator === ',' ? /[\s,]+/ : /\s+/;
      // An invalid scope can be neither requested nor shown.
      const reported = scope?.split(separator).filter(isScope) ?? asked;
      return [...closure([...reported, ...asked.filter(part => unreported.has(part))])];
    },
  };
}
