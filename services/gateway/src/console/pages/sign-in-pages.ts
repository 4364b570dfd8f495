import { html, ownPath, webUrl } from '@postern/pages/html';
import type { Role } from '../roles.ts';
import { type ConsolePage, plainPage } from './layout.ts';

/** @param p.linkedTo path that a link from another site leads to */
export function signInPage(page: ConsolePage, p: { readonly href: string; readonly linkedTo?: string }): string {
  const linked =
    p.linkedTo === undefined
      ? undefined
      : html`<p>A link from another site leads to <code class="whole">${p.linkedTo}</code>. If that is the record of one person, the audit trail notes that you look at it.</p>`;
  return plainPage(page, {
    title: 'Sign in',
    main: html`<p>This console is for the operators of this gateway.</p>${linked}<p><a class="button" href="${ownPath(p.href)}">Sign in</a></p>`,
  });
}

/** After the sign-in. The browser continues from a page of the console, not from the identity provider. */
export const signedInPage = (page: ConsolePage, { href }: { readonly href: string }): string =>
  plainPage(page, {
    title: 'You are signed in',
    main: html`<p><a class="button" href="${ownPath(href)}">Continue</a></p>`,
    goTo: href,
  });

/** @param p.endSessionHref where the operator can sign out of the identity provider */
export function signedOutPage(
  page: ConsolePage,
  p: { readonly href: string; readonly endSessionHref?: string },
): string {
  const there =
    p.endSessionHref === undefined
      ? undefined
      : html`<p><a class="button" href="${webUrl(p.endSessionHref)}" rel="noreferrer">Sign out there too</a></p>`;
  return plainPage(page, {
    title: 'You are signed out',
    main: html`<p>Your session at the identity provider may still be active.</p>${there}<p><a class="button" href="${ownPath(p.href)}">Sign in again</a></p>`,
  });
}

export const signInFailedPage = (page: ConsolePage, { href }: { readonly href: string }): string =>
  plainPage(page, {
    title: 'Sign-in failed',
    main: html`<p>The identity provider did not complete the sign-in. The log of the gateway has the reason.</p><p><a class="button" href="${ownPath(href)}">Try again</a></p>`,
  });

/** @param p.name of an operator without any role. Absent if the role does not suffice for a page. */
export function noRolePage(
  page: ConsolePage,
  p: {
    readonly name?: string | undefined;
    readonly needed: Role;
    readonly csrfToken?: string;
    /** Sign-in that lets the operator choose another account. */
    readonly otherAccount: string;
  },
): string {
  const signOut =
    p.csrfToken === undefined
      ? undefined
      : html`<form method="post" action="${ownPath('/logout')}"><input type="hidden" name="csrf_token" value="${p.csrfToken}"><button class="quiet">Sign out</button></form>`;
  return p.name === undefined
    ? plainPage(page, {
        title: 'Your role does not allow this',
        main: html`<p>This page needs the role <b>${p.needed}</b>.</p><p><a class="button" href="${ownPath('/')}">Overview</a></p>`,
      })
    : plainPage(page, {
        title: 'You have no role here',
        main: html`<p>You are signed in as <b>${p.name}</b>. Ask the people who run this gateway to give your account a role.</p><p><a class="button" href="${ownPath(p.otherAccount)}">Use another account</a></p>${signOut}`,
      });
}

export const foreignLinkPage = (page: ConsolePage, { href }: { readonly href: string }): string =>
  plainPage(page, {
    title: 'A link from another site',
    main: html`<p>It leads to the record of one person. The audit trail notes that you look at it.</p><p><a class="button" href="${ownPath(href)}">Open it</a></p>`,
  });

export const errorPage = (
  page: ConsolePage,
  p: { readonly title: string; readonly text: string; readonly requestId?: string },
): string =>
  plainPage(page, {
    title: p.title,
    main: html`<p>${p.text}</p>${p.requestId === undefined ? undefined : html`<p class="soft">Request <code>${p.requestId}</code></p>`}<p><a class="button" href="${ownPath('/')}">Overview</a></p>`,
  });
