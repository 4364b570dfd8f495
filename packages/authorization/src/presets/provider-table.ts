import { presets } from './index.ts';
import type { Preset } from './preset.ts';

/** Returns the table of presets in docs/providers.md, as Markdown. */
export function providerTable(): string {
  return [
    '| `preset` | provider | `presetValues` | PKCE | account | revocation | scopes | new scopes | API hosts |',
    '|---|---|---|---|---|---|---|---|---|',
    ...presets.map(row),
  ].join('\n');
}

/** Returns the notes of each preset for the operator, as Markdown. */
export function providerNotes(): string {
  return presets
    .filter(({ notes }) => notes.length > 0)
    .map(({ name, notes }) => [`- \`${name}\``, ...notes.map(note => `  - ${note}`)].join('\n'))
    .join('\n');
}

function row({ name, displayName, documentation, scopeDocumentation, pkce, placeholders, provider }: Preset): string {
  const values = Object.entries(placeholders).map(([value, placeholder]) => {
    const fallback = 'fallback' in placeholder ? placeholder.fallback : undefined;
    return `\`${value}: ${fallback ?? placeholder.example}\`${fallback === undefined ? '' : ' (default)'}`;
  });
  return `| ${[
    `\`${name}\``,
    `[${displayName}](${documentation})`,
    values.join(', '),
    pkce,
    provider.account === undefined ? 'unknown' : provider.account.from.replace('_', ' '),
    revocation(provider),
    scopeDocumentation === undefined ? '' : `[list](${scopeDocumentation})`,
    provider.incrementalScopes === true ? 'alone' : 'with granted scopes',
    provider.apiHosts?.map(host => `\`${host}\``).join(', ') ?? 'any',
  ].join(' | ')} |`;
}

function revocation({ revocation, discovery }: Preset['provider']): string {
  if (revocation === undefined) return discovery === undefined ? 'no' : 'if in its metadata';
  const { style = 'rfc7009', token, reach = 'token' } = revocation;
  if (reach === 'grant') return 'everything granted';
  if (reach === 'connection' || (style === 'rfc7009' && token === undefined)) return 'both tokens';
  return token === 'refresh_token' ? 'the refresh token' : 'the access token';
}
