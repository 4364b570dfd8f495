import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { accentColours } from './palette.ts';
import type { Branding } from './views.ts';

/** In cascade order. */
const styles = ['postern.css', 'marks.css', 'approvals.css', 'entries.css', 'account.css', 'live.css']
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
    withCorners(minify(styles), branding.corners ?? 'soft'),
    `:root{${declarations(accentColours(branding, 'light'))}}`,
    `@media screen and (prefers-color-scheme:dark){:root{${declarations(accentColours(branding, 'dark'))}}}`,
    ...fontRules(branding.fonts ?? []),
  ].join('\n');
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);
  return { path: `/assets/postern-${hash}.css`, body };
}

const cornerFactors = { square: 0, soft: 1, round: 1.6 } as const;

/** Scales the corners that are given in rem. Circles, given in percent, stay. */
function withCorners(css: string, corners: NonNullable<Branding['corners']>): string {
  const factor = cornerFactors[corners];
  return css.replace(/(?<=border-[a-z-]*radius:)[^;}]+/g, value =>
    value.replace(
      /(\d{1,4}(?:\.\d{1,4})?)rem/g,
      (_match, rem: string) => `${Number((Number(rem) * factor).toFixed(4))}rem`,
    ),
  );
}

/** @throws Error for a name that could be more than a name in a stylesheet */
function fontRules(fonts: readonly string[]): readonly string[] {
  if (fonts.length === 0) return [];
  for (const font of fonts)
    if (!/^[A-Za-z][A-Za-z0-9]*(?: [A-Za-z0-9]+)*$/.test(font))
      throw new Error('branding.fonts: not the name of a font family');
  return [`html{font-family:${fonts.map(font => `"${font}"`).join()},system-ui,sans-serif}`];
}

function declarations(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

/** Removes comments and the white space that browsers do not need. No text in it has a brace, a semicolon or two spaces. */
function minify(css: string): string {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/(?<=[;{},]) | (?=[{}])|(?<=[a-z]:) |;(?= ?\})/g, '')
    .trim();
}
