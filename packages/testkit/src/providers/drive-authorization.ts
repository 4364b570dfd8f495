import { type CookieJar, createCookieJar } from './cookie-jar.ts';
import { hiddenFields, walkPages } from './drive-pages.ts';

export interface DriveOptions {
  /** The browser: pass the same jar again to be signed in already. */
  readonly jar?: CookieJar;
  /** Default `allow`. `deny` on the first page that offers it. */
  readonly decision?: 'allow' | 'deny';
  /** Scopes to tick on the consent page. Default: all. */
  readonly grantScopes?: readonly string[];
}

/**
 * Goes through authorization at a test provider like a person with a browser: follows redirects, signs in as `user`,
 * decides about consent. Gives back the URL at which the browser leaves the provider, without requesting it.
 *
 * @throws {Error} when the provider shows an error page or a page that this robot does not know.
 */
export async function driveAuthorization(start: URL | string, user: string, options: DriveOptions = {}): Promise<URL> {
  const end = await walkPages(start, options.jar ?? createCookieJar(), page => {
    // Pages of oidc-provider that send themselves in a browser, such as the one that ends a session of another user.
    const hidden = hiddenFields(page);
    return hidden.length > 0 ? new URLSearchParams(hidden) : decide(page, user, options);
  });
  if (!('left' in end)) throw new Error('the provider shows a page without a way on');
  return end.left;
}

/** What a person enters on the sign-in page, or on the consent page. */
export function decide(page: string, user: string, { decision = 'allow', grantScopes }: DriveOptions): URLSearchParams {
  if (decision === 'deny') return new URLSearchParams({ decision: 'deny' });
  if (page.includes('name="user"')) return new URLSearchParams({ user });
  const offered = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope = '']) => scope);
  const chosen = offered.filter(scope => grantScopes?.includes(scope) ?? true);
  return new URLSearchParams([['decision', 'allow'], ...chosen.map(scope => ['scope', scope])]);
}
