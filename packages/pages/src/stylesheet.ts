import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { accentColours } from './palette.ts';
import type { Branding } from './views.ts';

/** In cascade order. */
const styles = ['postern.css', 'marks.css', 'approvals.css', 'entries.css', 'live.css']
  .map(file => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('\n');

/**
 * The one stylesheet, with the operator's colours. Its path contains a hash of its content, so caches may keep it
 * forever (`Cache-Control: public, max-age=31536000, immutable`).
 *
 * @throws Error that names the setting when a colour is not written as `#rrggbb`.
 */
export function stylesheet(branding: Branding): { path: string; body: string } {
  const body = [
    minify(styles),
    `:root{${declarations(accentColours(branding, 'light'))}}`,
    `@media screen and (prefers-color-scheme:dark){:root{${declarations(accentColours(branding, 'dark'))}}}`,
  ].join('\n');
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);
  return { path: `/assets/postern-${hash}.css`, body };
}

function declarations(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

/** Removes comments and indentation, which browsers do not need. */
function minify(css: string): string {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join('\n');
}
