import { type CookieJar, createCookieJar } from './cookie-jar.ts';

export interface DriveOptions {
  /** The browser: pass the same jar again to be signed in already. */
  readonly jar?: CookieJar;
  /** Default `allow`. `deny` on the first page that offers it. */
  readonly decision?: 'allow' | 'deny';
  /** Scopes to tick on the consent page. Default: all. */
  readonly grantScopes?: readonly string[];
}

const maxHops = 20;

/**
 * Goes through authorization at a test provider like a person with a browser: follows redirects, signs in as `user`,
 * decides about consent. Gives back the URL at which the browser leaves the provider, without requesting it.
 *
 * @throws {Error} when the provider shows an error page or a page that this robot does not know.
 */
export async function driveAuthorization(start: URL | string, user: string, options: DriveOptions = {}): Promise<URL> {
  const jar = options.jar ?? createCookieJar();
  const origin = new URL(start).origin;
  let next: { url: URL; form?: URLSearchParams } = { url: new URL(start) };

  for (let hop = 0; hop < maxHops; hop += 1) {
    if (next.url.origin !== origin) return next.url;
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
    const action = /<form [^>]*action="([^"]+)"/.exec(page)?.[1];
    if (response.status !== 200 || action === undefined) {
      throw new Error(`the provider answered ${response.status} at ${next.url.pathname}`);
    }
    next = { url: new URL(action, next.url), form: answer(page, user, options) };
  }
  throw new Error('the provider redirects in circles');
}

function answer(page: string, user: string, { decision = 'allow', grantScopes }: DriveOptions): URLSearchParams {
  // Pages of oidc-provider that send themselves in a browser, such as the one that ends a session of another user.
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  if (hidden.length > 0) return new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value]));
  if (decision === 'deny') return new URLSearchParams({ decision: 'deny' });
  if (page.includes('name="user"')) return new URLSearchParams({ user });
  const offered = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope = '']) => scope);
  const chosen = offered.filter(scope => grantScopes?.includes(scope) ?? true);
  return new URLSearchParams([['decision', 'allow'], ...chosen.map(scope => ['scope', scope])]);
}
