import { describe, expect, test } from 'vitest';
import { locales } from '../languages/languages.ts';
import { sampleContext } from '../testing/sample-context.ts';
import { signInPage } from './sign-in-pages.ts';

const hrefsOf = (page: string) => [...page.matchAll(/<a class="button[^"]*" href="([^"]*)"/g)].map(([, href]) => href);

describe('the sign-in page', () => {
  test.each(locales)('has a single link to the identity provider, in %s', locale => {
    const page = signInPage({ ...sampleContext, locale }, { continueHref: '/login?to=me', purpose: 'connections' });
    expect(hrefsOf(page)).toEqual(['/login?to=me']);
  });

  test.each(locales)('offers all identity providers equally, in %s', locale => {
    const page = signInPage(
      { ...sampleContext, locale },
      {
        choices: [
          { name: 'Staff', href: '/login?to=me&idp=staff' },
          { name: 'Customers', href: '/login?to=me&idp=customers' },
        ],
      },
    );
    expect(hrefsOf(page).map(href => href?.replaceAll(/&#?\w+;/g, '&'))).toEqual([
      '/login?to=me&idp=staff',
      '/login?to=me&idp=customers',
    ]);
    expect(page).not.toContain('button accent');
    expect(page).toContain('<span translate="no"><bdi>Staff</bdi></span>');
    expect(page).toContain('<span translate="no"><bdi>Customers</bdi></span>');
  });

  test('a choice links only to a web address or to a path of our own', () => {
    expect(() => signInPage(sampleContext, { choices: [{ name: 'x', href: 'javascript:alert(1)' }] })).toThrow(
      TypeError,
    );
  });
});
