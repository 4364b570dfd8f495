/** Pages around signing in. None of them depends on an elicitation: a real link and an invented one look alike. */
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { destination, facts, linkButton, operatorNotice } from '../parts.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** One of several places to sign in at. */
export interface SignInChoice {
  readonly name: string;
  readonly href: string;
}

export type SignInView = {
  /** What the person came for: a question that waits (the default), or the list of what they connected. */
  readonly purpose?: 'question' | 'connections';
} & (
  | {
      readonly continueHref: string;
      /** Host of the identity provider, as `displayHost` makes it. */
      readonly destinationHost?: string;
    }
  /** Only the person can know which one. */
  | { readonly choices: readonly SignInChoice[] }
);

/** Hands over to the identity provider, by a link because `form-action 'self'` would stop a form (security.md T25). */
export function signInPage(context: PageContext, view: SignInView): string {
  const t = translatorFor(context.locale);
  const purpose = t.html(view.purpose === 'connections' ? 'signIn.connections' : 'signIn.text');
  const page = { title: t.plain('signIn.heading'), icon: icons.person, heading: t.html('signIn.heading') };
  if ('choices' in view) {
    return messagePage(context, t, {
      ...page,
      texts: [purpose, t.html('signIn.choose')],
      actions: view.choices.map(({ name, href }) =>
        linkButton(href, t.html('signIn.with', { name: html`<span translate="no">${name}</span>` }), 'plain'),
      ),
    });
  }
  return messagePage(context, t, {
    ...page,
    texts: [purpose],
    ...(view.destinationHost === undefined ? {} : { body: facts([destination(view.destinationHost, t)]) }),
    actions: [linkButton(view.continueHref, t.html('signIn.continue'), 'accent')],
  });
}

export interface SignInFailedView {
  readonly retryHref?: string;
}

/** The identity provider did not answer or turned the sign-in down. */
export function signInFailedPage(context: PageContext, view: SignInFailedView): string {
  const t = translatorFor(context.locale);
  return messagePage(context, t, {
    title: t.plain('signInFailed.heading'),
    icon: icons.alert,
    tone: 'caution',
    heading: t.html('signInFailed.heading'),
    texts: [operatorNotice(context, t) ?? t.html('signInFailed.text')],
    ...(view.retryHref === undefined
      ? {}
      : { actions: [linkButton(view.retryHref, t.html('signInFailed.retry'), 'accent')] }),
  });
}

export function signedOutPage(context: PageContext): string {
  const t = translatorFor(context.locale);
  return messagePage(context, t, {
    title: t.plain('signedOut.heading'),
    icon: icons.person,
    heading: t.html('signedOut.heading'),
    texts: [t.html('signedOut.text')],
  });
}
