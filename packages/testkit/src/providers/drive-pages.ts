import type { CookieJar } from './cookie-jar.ts';

/** The end of a walk: a redirect to another origin, or a page without a form to submit. */
export type WalkEnd = { readonly left: URL } | { readonly page: string };

const maxHops = 20;

/**
 * Follows redirects and sends forms like a browser, within one origin.
 *
 * @param answer what to send with the form of a page, or undefined to stop at that page
 * @throws {Error} if a page has a status other than 200, or after too many redirects
 */
export async function walkPages(
  start: URL | string,
  jar: CookieJar,
  answer: (page: string, url: URL) => URLSearchParams | undefined,
): Promise<WalkEnd> {
  const origin = new URL(start).origin;
  let next: { url: URL; form?: URLSearchParams } = { url: new URL(start) };

  for (let hop = 0; hop < maxHops; hop += 1) {
    if (next.url.origin !== origin) return { left: next.url };
    const cookie = jar.header(next.url);
    const response = await fetch(next.url, {
      method: next.form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: cookie === undefined ? {} : { cookie },
      ...(next.form && { body: next.form }),
    });
    jar.store(next.url, response);

    const location = response.headers.get('location');
    if (location !== null) {
      await response.body?.cancel();
      next = { url: new URL(location, next.url) };
      continue;
    }
    const page = await response.text();
    if (response.status !== 200)
      throw new Error(`the provider responded with ${response.status} at ${next.url.pathname}`);
    const action = /<form [^>]*action="([^"]+)"/.exec(page)?.[1];
    const form = action === undefined ? undefined : answer(page, next.url);
    if (action === undefined || form === undefined) return { page };
    next = { url: new URL(action, next.url), form };
  }
  throw new Error('too many redirects');
}

/** Returns the hidden fields of a page with their values. */
export function hiddenFields(page: string): [string, string][] {
  const fields = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return [...fields].map(([, name = '', value = '']) => [name, value]);
}
