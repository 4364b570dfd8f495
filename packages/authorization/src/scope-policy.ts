import { AuthorizationError } from './authorization-error.ts';
import { type ScopeDescription, scopeTokenSchema } from './config-values.ts';
import { standardScopes } from './presets/preset.ts';
import type { ProviderConfig } from './provider-config.ts';

/** The scope rules of one provider: which scopes may be requested, and which are granted. */
export interface ScopePolicy {
  /** Returns scopes in the one spelling that the configuration uses, each scope once. */
  spelled(scopes: readonly string[]): string[];
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
  const { incrementalScopes, scopeSpelling } = config;
  const configured = configuredScopes(config);
  const spelled = spellingOf(scopeSpelling, configured);
  const scopesOf = (scopes: readonly string[]) => [...new Set(scopes.map(spelled))];
  const implied = new Map<string, readonly string[]>();
  for (const [scope, further] of Object.entries(config.scopeImplies))
    implied.set(spelled(scope), scopesOf([...(implied.get(spelled(scope)) ?? []), ...further]));
  const unreported = new Set(scopesOf([...neverReported, ...config.unreportedScopes]));
  const unreportedEnds = config.unreportedScopes.filter(scope => scope.startsWith('*')).map(scope => scope.slice(1));
  const isUnreported = (scope: string) => unreported.has(scope) || unreportedEnds.some(end => scope.endsWith(end));
  // An ID token requires this scope (OpenID Connect Core 3.1.2.1).
  const always = scopesOf([...(config.account?.from === 'id_token' ? ['openid'] : []), ...config.baseScopes]);
  const defaultScopes = scopesOf(config.defaultScopes);
  const allowed = config.scopes && new Set([...always, ...defaultScopes, ...scopesOf(Object.keys(config.scopes))]);

  const named = new Set(configured);
  // Some providers split at commas: one undescribed text would ask for several described scopes.
  const mayRequest = (scope: string) =>
    isScope(scope) && (!scope.includes(',') || named.has(scope)) && allowed?.has(scope) !== false;

  /** Returns the scopes with all directly and indirectly implied scopes. */
  function closure(scopes: Iterable<string>): Set<string> {
    const closed = new Set(scopes);
    // Iterating over a set includes elements that are added during the iteration.
    for (const scope of closed) for (const further of implied.get(scope) ?? []) closed.add(further);
    return closed;
  }

  function requested(scopes: readonly string[]): string[] {
    const asked = scopes.length > 0 ? scopesOf(scopes) : defaultScopes;
    if (!asked.every(mayRequest)) throw new AuthorizationError('scope_not_allowed');
    return [...new Set([...always, ...asked])];
  }

  /** Returns the scopes of `held` that would be lost unless requested. Of two names for one scope, it returns the first. */
  function keeping(needed: readonly string[], held: readonly string[]): string[] {
    const kept = closure(needed);
    const requestable = held.filter(mayRequest);
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
    spelled: scopesOf,
    requested,

    toRequest(needed, held) {
      const asked = requested(needed);
      const had = scopesOf(held);
      if (!incrementalScopes) return requested([...asked, ...keeping(asked, had)]);
      const missing = asked.filter(scope => !had.includes(scope));
      // No scope is missing, but the old grant is unusable, so the user must authorize again.
      return missing.length > 0 ? requested(missing) : asked;
    },

    granted(scope, asked) {
      const names = [...configured, ...asked];
      // A comma separates scopes, unless this provider has a scope with a comma in its name (RFC 6749 appendix A.4).
      const separator = configured.some(name => name.includes(',')) ? /\s+/ : /[\s,]+/;
      const spelledAsAsked = spellingOf(scopeSpelling, names);
      // An invalid scope can be neither requested nor shown.
      const reported = scope?.split(separator).filter(isScope) ?? asked;
      const scopes = closure([...reported, ...asked.filter(part => isUnreported(spelled(part)))].map(spelledAsAsked));
      // The caller knows scopes in the spelling in which it asked for them.
      return [...scopes, ...asked.filter(part => !scopes.has(part) && scopes.has(spelledAsAsked(part)))];
    },
  };
}

const isScope = (text: string): boolean => scopeTokenSchema.safeParse(text).success;

/** Every scope that the configuration names. */
function configuredScopes({ scopes = {}, scopeDescriptions, scopeImplies, ...lists }: ProviderConfig): string[] {
  const { baseScopes, defaultScopes, unreportedScopes } = lists;
  const named = [scopes, scopeDescriptions, scopeImplies].flatMap(record => Object.keys(record));
  return [...named, ...baseScopes, ...defaultScopes, ...unreportedScopes];
}

/**
 * Returns a function that maps all spellings of a scope to one: that of `names`, or the scope without its prefix. Only a configured prefix
 * is taken off, once and as a whole, and case counts unless it is configured not to. So two scopes are the same only by a rule that
 * names them, never because they look alike.
 */
function spellingOf(
  { prefixes, ignoreCase }: ProviderConfig['scopeSpelling'],
  names: readonly string[],
): (scope: string) => string {
  if (prefixes.length === 0 && !ignoreCase) return scope => scope;
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const bare = (scope: string) => {
    const prefix = prefixes.find(text => fold(scope).startsWith(fold(text)) && scope.length > text.length);
    return scope.slice(prefix?.length ?? 0);
  };
  // The first name of a scope counts.
  const known = new Map(names.toReversed().map(name => [fold(bare(name)), name]));
  return scope => known.get(fold(bare(scope))) ?? bare(scope);
}
