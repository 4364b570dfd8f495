import type { TextIn } from './foreign-text.ts';
import { type Locale, scopesOf } from './languages/languages.ts';

/** Presets with the scopes of another one. */
const sameScopes = new Map([
  ['github-enterprise', 'github'],
  ['microsoft-entra', 'microsoft'],
]);

/**
 * Returns what a scope allows, in English where the locale has no text. `preset` is the name of a preset of the authorization
 * package; without one, only the standard scopes have a text.
 */
export function scopeText(preset: string | undefined, scope: string, locale: Locale): TextIn | undefined {
  const own = preset === undefined ? undefined : textIn(sameScopes.get(preset) ?? preset, scope, locale);
  return own ?? textIn('standard', scope, locale);
}

function textIn(group: string, scope: string, locale: Locale): TextIn | undefined {
  for (const language of new Set<Locale>([locale, 'en'])) {
    const text = member(member(scopesOf(language), group) ?? {}, scope);
    if (text !== undefined) return { text, language };
  }
  return undefined;
}

/** Names come from MCP servers: `constructor` is not a member. */
const member = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
