import { type CookieJar, createCookieJar } from './cookie-jar.ts';
import { hiddenFields, walkPages } from './drive-pages.ts';

export interface DriveOptions {
  /** Cookies of the browser. Pass the same jar again to reuse its session. */
  readonly jar?: CookieJar;
  /** Default `allow`. `deny` on the first page that offers it. */
  readonly decision?: 'allow' | 'deny';
  /** Scopes to tick on the consent page. Default: all. */
  readonly grantScopes?: readonly string[];
}

/**
 * Authorizes at a test provider like a user with a browser: follows redirects, signs in as `user` and decides about consent.
 * Returns the URL to which the provider redirects, without requesting it.
 *
 * @throws {Error} if the provider shows an error page or an unknown page.
 */
export async function driveAuthorization(start: URL | string, user: string, options: DriveOptions = {}): Promise<URL> {
  const end = await walkPages(start, options.jar ?? createCookieJar(), page => {
    // Pages of oidc-provider that submit themselves in a browser, such as the one that ends another user's session.
    const hidden = hiddenFields(page);
    if (hidden.length === 0) return decide(page, user, options);
    // The page of a sign-out offers to stay signed in.
    const signsOut = options.decision !== 'deny' && page.includes(' name="logout" value="yes" class=');
    return new URLSearchParams([...hidden, ...(signsOut ? [['logout', 'yes']] : [])]);
  });
  if (!('left' in end)) throw new Error('the provider shows a page without a form');
  return end.left;
}

/** Returns the user's input for the sign-in page or the consent page. */
export function decide(page: string, user: string, { decision = 'allow', grantScopes }: DriveOptions): URLSearchParams {
  if (decision === 'deny') return new URLSearchParams({ decision: 'deny' });
  if (page.includes('name="user"')) return new URLSearchParams({ user });
  const offered = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope = '']) => scope);
  const chosen = offered.filter(scope => grantScopes?.includes(scope) ?? true);
  return new URLSearchParams([['decision', 'allow'], ...chosen.map(scope => ['scope', scope])]);
}
