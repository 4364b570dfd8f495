import { type Html, html, ownPath } from '@postern/pages/html';
import { signInHref } from '../sign-in-href.ts';
import { consolePage, type SectionPath, type SignedInPage, sections } from './layout.ts';
import { linkTo } from './parts.ts';

export interface ActView {
  readonly title: string;
  readonly at: SectionPath;
  /** What it will do, and to how many. */
  readonly says: Html;
  /** Names the act. Absent if there is nothing to do now. */
  readonly button?: string;
  /** Fields of the confirming form that follow from what the page says. */
  readonly confirms?: Readonly<Record<string, string>>;
}

/** Says what an act will do before the operator confirms it. Without a fresh sign-in it offers one instead of the form. */
export function actPage(
  page: SignedInPage,
  p: {
    readonly view: ActView;
    readonly isFresh: boolean;
    /** Fields that the confirming form repeats. */
    readonly given: Readonly<Record<string, string>>;
    readonly action: string;
    /** Where the operator returns after signing in again. */
    readonly again: string;
  },
): string {
  const { view, given } = p;
  const section = sections.find(({ path }) => path === view.at);
  const hidden = Object.entries({ csrf_token: page.csrfToken, ...given }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const back = html`<a href="${linkTo(view.at)}">Back</a>`;
  const act =
    view.button === undefined
      ? html`<p>${back}</p>`
      : p.isFresh
        ? html`<form class="act" method="post" action="${ownPath(p.action)}">${hidden}<label><span>Reason, for the audit trail</span><input type="text" name="reason" required></label><button class="danger">${view.button}</button> ${back}</form>`
        : html`<p>This needs a sign-in of the last five minutes.</p><p><a class="button" href="${ownPath(signInHref(p.again, true))}">Sign in again</a></p>`;
  return consolePage(page, {
    title: view.title,
    at: view.at,
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo(view.at)}">${section?.name}</a></nav>`,
    main: html`${view.says}${act}`,
  });
}

/** Button that opens the page of an act about a person. The subject is in the form, never in a URL. */
export const personActButton = (
  page: SignedInPage,
  p: { readonly path: string; readonly issuer: string; readonly subject: string; readonly text: string },
): Html =>
  html`<form method="post" action="${ownPath(p.path)}"><input type="hidden" name="csrf_token" value="${page.csrfToken}"><input type="hidden" name="issuer" value="${p.issuer}"><input type="hidden" name="subject" value="${p.subject}"><button class="quiet">${p.text}</button></form>`;
