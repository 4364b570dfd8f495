import { AuthorizationError } from './authorization-error.ts';
import { scopeTokenSchema } from './config-values.ts';
import type { ProviderConfig } from './provider-config.ts';

/** What scopes mean at one provider: what may be requested, and what has been granted. */
export interface ScopePolicy {
  /**
   * The scopes that are requested when an MCP server asks for these.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  requested(scopes: readonly string[]): string[];
  /**
   * What to request so that `needed` is granted and nothing of `held` is lost. Held scopes that may no longer be requested
   * are left out, and so are those that come with another one anyway.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  toRequest(needed: readonly string[], held: readonly string[]): string[];
  /**
   * The scopes that are granted in effect: those the answer names, what they imply, and what was asked for and is never
   * named. RFC 6749 section 5.1: an absent `scope` means those that were asked for.
   */
  granted(scope: string | undefined, asked: readonly string[]): string[];
}

/** These ask for an ID token and a refresh token; they grant no access and most answers do not name them. */
const neverReported = ['openid', 'offline_access'];

export function scopePolicy(config: ProviderConfig): ScopePolicy {
  const { baseScopes, defaultScopes, scopes: described, incrementalScopes, scopeSeparator } = config;
  const implied = new Map(Object.entries(config.scopeImplies));
  const unreported = new Set([...neverReported, ...config.unreportedScopes]);
  // Claims of an ID token are asked for with this scope (OpenID Connect Core 3.1.2.1).
  const always = config.account?.from === 'id_token' ? ['openid', ...baseScopes] : baseScopes;
  const allowed = described && new Set([...always, ...defaultScopes, ...Object.keys(described)]);

  const isScope = (text: string) => scopeTokenSchema.safeParse(text).success;
  const mayRequest = (scope: string) => isScope(scope) && allowed?.has(scope) !== false;

  /** With everything they imply, and what that implies. */
  function closure(scopes: Iterable<string>): Set<string> {
    const closed = new Set(scopes);
    // A set is iterated in the order of insertion, what is added on the way included.
    for (const scope of closed) for (const further of implied.get(scope) ?? []) closed.add(further);
    return closed;
  }

  function requested(scopes: readonly string[]): string[] {
    const asked = scopes.length > 0 ? scopes : defaultScopes;
    if (!asked.every(mayRequest)) throw new AuthorizationError('scope_not_allowed');
    return [...new Set([...always, ...asked])];
  }

  /** Scopes of `held` that have to be requested, or they would be gone. Of two names for the same, the first. */
  function keeping(needed: readonly string[], held: readonly string[]): string[] {
    const kept = closure(needed);
    const requestable = [...new Set(held)].filter(mayRequest);
    // How many there are is the provider's to say, so each is compared with those alone that imply something.
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
      // Nothing is missing, and still somebody has to be asked: the old grant is of no use any more.
      return missing.length > 0 ? requested(missing) : asked;
    },

    granted(scope, asked) {
      const separator = scopeSeparator === ',' ? /[\s,]+/ : /\s+/;
      // What is no scope can be neither asked for nor shown.
      const reported = scope?.split(separator).filter(isScope) ?? asked;
      return [...closure([...reported, ...asked.filter(part => unreported.has(part))])];
    },
  };
}
