import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * A script of an application, the only one on its pages. Its path contains a hash of its content, so caches may keep it forever. Served as
 * `text/javascript`.
 */
export interface PageScript {
  readonly path: string;
  readonly body: string;
}

/** Sends one form at a time, and marks its button as busy. */
export const formsPart = new URL('browser/forms.js', import.meta.url);

/** @param parts files that are independent of each other, in any order */
export function createPageScript(name: string, parts: readonly URL[]): PageScript {
  // Without comments and indentation, which browsers do not need. No part has a text over several lines.
  const body = parts
    .flatMap(part => readFileSync(part, 'utf8').split('\n'))
    .map(line => line.trim())
    .filter(line => !/^(?:\/\/|\/?\*|$)/.test(line))
    .join('\n');
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);
  return { path: `/assets/${name}-${hash}.js`, body };
}

/** The script of the hosted pages. */
export const pageScript: PageScript = createPageScript('postern', [
  new URL('browser/times.js', import.meta.url),
  new URL('browser/fields.js', import.meta.url),
  formsPart,
  new URL('browser/watch.js', import.meta.url),
  new URL('browser/passkey.js', import.meta.url),
]);
