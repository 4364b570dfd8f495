/** Pages of refused requests. They reveal nothing about the elicitation or its owner, not even whether it exists. */
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { fact, facts, linkButton, personFact, postForm, submitButton } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext, PersonView } from '../views.ts';

export interface WrongPersonView {
  /** The signed-in user, never the expected one. */
  readonly person: PersonView;
  readonly switchAccountAction: string;
  readonly csrfToken: string;
}

/** The elicitation belongs to another user than the signed-in one. */
export function wrongPersonPage(context: PageContext, view: WrongPersonView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('wrongPerson.heading'),
    icon: icons.people,
    heading: t.html('wrongPerson.heading'),
    texts: [t.html('wrongPerson.text')],
    body: facts([personFact(view.person, t)]),
    actions: [
      postForm(
        { action: view.switchAccountAction, csrfToken: view.csrfToken },
        submitButton(t.html('wrongPerson.switchAccount'), 'accent'),
      ),
    ],
  });
}

/** A provider's response arrived in a browser that did not start the flow (security.md A3, A5). */
export function wrongBrowserPage(context: PageContext): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('wrongBrowser.heading'),
    icon: icons.shield,
    tone: 'caution',
    heading: t.html('wrongBrowser.heading'),
    texts: [t.html('wrongBrowser.text'), t.html('wrongBrowser.next')],
  });
}

export interface NoRequestView {
  /** The one open request that the response can be about. */
  readonly requestHref?: string;
  /** The list of open requests. */
  readonly accountHref?: string;
}

/** A provider's response names no request, or one that has ended. */
export function noRequestPage(context: PageContext, { requestHref, accountHref }: NoRequestView): string {
  const t = translatorFor(context);
  const href = requestHref ?? accountHref;
  const label = t.html(requestHref === undefined ? 'account.back' : 'noRequest.open');
  return messagePage(context, t, {
    title: t.plain('noRequest.heading'),
    icon: icons.search,
    heading: t.html('noRequest.heading'),
    texts: [t.html('noRequest.text'), t.html(href === undefined ? 'noRequest.nextInApp' : 'noRequest.next')],
    actions: href === undefined ? [] : [linkButton(href, label, 'accent')],
  });
}

export function notFoundPage(context: PageContext): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('notFound.heading'),
    icon: icons.search,
    heading: t.html('notFound.heading'),
    texts: [t.html('notFound.text')],
  });
}

export interface ErrorView {
  /** Finds the event in the operator's log. */
  readonly requestId: string;
  readonly kind: 'bad_request' | 'forbidden' | 'too_many_requests' | 'unavailable' | 'internal';
}

const errorTexts = {
  bad_request: 'error.badRequest',
  forbidden: 'error.forbidden',
  too_many_requests: 'error.tooManyRequests',
  unavailable: 'error.unavailable',
  internal: 'error.internal',
} as const satisfies Record<ErrorView['kind'], string>;

/** The gateway could not handle the request. */
export function errorPage(context: PageContext, view: ErrorView): string {
  const t = translatorFor(context);
  const texts = errorTexts[view.kind];
  return messagePage(context, t, {
    title: t.plain(`${texts}.heading`),
    icon: icons.alert,
    tone: 'caution',
    heading: t.html(`${texts}.heading`),
    texts: [t.html(`${texts}.text`)],
    body: facts([
      fact(t.html('error.requestId'), html`<code class="request-id" dir="ltr" translate="no">${view.requestId}</code>`),
    ]),
  });
}
