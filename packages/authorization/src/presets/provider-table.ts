import { presets } from './index.ts';
import type { Preset } from './preset.ts';

/** Every preset as a row of Markdown, for docs/providers.md. */
export function providerTable(): string {
  return [
    '| `preset` | provider | `presetValues` | PKCE | account | revocation | new scopes |',
    '|---|---|---|---|---|---|---|',
    ...presets.map(row),
  ].join('\n');
}

/** What every preset says to the operator beside that. */
export function providerNotes(): string {
  return presets
    .filter(({ notes }) => notes.length > 0)
    .map(({ name, notes }) => [`- \`${name}\``, ...notes.map(note => `  - ${note}`)].join('\n'))
    .join('\n');
}

function row({ name, displayName, documentation, pkce, placeholders, provider }: Preset): string {
  const values = Object.entries(placeholders).map(([value, placeholder]) => {
    const fallback = 'fallback' in placeholder ? placeholder.fallback : undefined;
    return `\`${value}: ${fallback ?? placeholder.example}\`${fallback === undefined ? '' : ' (default)'}`;
  });
  return `| ${[
    `\`${name}\``,
    `[${displayName}](${documentation})`,
    values.join(', '),
    pkce,
    provider.account === undefined ? 'not told' : provider.account.from.replace('_', ' '),
    revocation(provider),
    provider.incrementalScopes === true ? 'alone' : 'with the old',
  ].join(' | ')} |`;
}

function revocation({ revocation, discovery }: Preset['provider']): string {
  if (revocation === undefined) return discovery === undefined ? 'no' : 'if its metadata says so';
  return revocation.reach === 'grant' ? 'everything granted' : 'this token';
}
