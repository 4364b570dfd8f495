import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const body = readFileSync(new URL('passkey-browser-script.js', import.meta.url), 'utf8');
const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);

/**
 * The script of the passkey page. Its path carries a hash of its content, so it may be cached for ever; served as
 * `text/javascript`.
 */
export const passkeyScript: { readonly path: string; readonly body: string } = {
  path: `/assets/passkey-${hash}.js`,
  body,
};
