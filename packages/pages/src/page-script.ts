import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Independent of each other, in any order. */
const parts = ['times.js', 'fields.js', 'forms.js', 'watch.js', 'passkey.js']
  .map(file => readFileSync(new URL(`browser/${file}`, import.meta.url), 'utf8'))
  .join('\n');

/** Without comments and indentation, which browsers do not need. No part has a text over several lines. */
const body = parts
  .split('\n')
  .map(line => line.trim())
  .filter(line => !/^(?:\/\/|\/?\*|$)/.test(line))
  .join('\n');
const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);

/**
 * The one script, of all pages. Its path contains a hash of its content, so caches may keep it forever. Served as
 * `text/javascript`.
 */
export const pageScript: { readonly path: string; readonly body: string } = {
  path: `/assets/postern-${hash}.js`,
  body,
};
