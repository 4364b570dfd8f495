import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const body = readFileSync(new URL('passkey-browser-script.js', import.meta.url), 'utf8');
const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);

/**
 * The script of the passkey page. Its path contains a hash of its content, so caches may keep it forever. Served as
 * `text/javascript`.
 */
export const passkeyScript: { readonly path: string; readonly body: string } = {
  path: `/assets/passkey-${hash}.js`,
  body,
};
