/** Pages for signing in. None of them depends on an elicitation, so real and invented links give the same page. */
import type { ForeignText } from '../foreign-text.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { destination, facts, linkButton, operatorNotice } from '../parts.ts';
import { type SignedOutView, signOutThere } from '../sign-out-there.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** One of several identity providers. */
export interface SignInChoice {
  readonly name: string;
  readonly href: string;
}

export type SignInView = {
  /** The page after the sign-in: an elicitation (the default) or the list of connections. */
  readonly purpose?: 'question' | 'connections';
} & (
  | {
      readonly continueHref: string;
      /** Host of the identity provider, as `displayHost` makes it. */
      readonly destinationHost?: string;
    }
  /** Lets the user choose, because the gateway cannot know the right identity provider. */
  | { readonly choices: readonly SignInChoice[] }
);

/** Links to the identity provider. `form-action 'self'` would block a form (security.md T25). */
export function signInPage(context: PageContext, view: SignInView): string {
  const t = translatorFor(context);
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
    body: view.destinationHost === undefined ? undefined : facts([destination(view.destinationHost, t)]),
    actions: [linkButton(view.continueHref, t.html('signIn.continue'), 'accent')],
  });
}

export interface SignInFailedView {
  readonly retryHref?: string;
}

/** The identity provider did not respond or rejected the sign-in. */
export function signInFailedPage(context: PageContext, view: SignInFailedView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('signInFailed.heading'),
    icon: icons.alert,
    tone: 'caution',
    heading: t.html('signInFailed.heading'),
    texts: [operatorNotice(context, t) ?? t.html('signInFailed.text')],
    actions:
      view.retryHref === undefined
        ? []
        : [
            linkButton(
              view.retryHref,
              t.html('signInFailed.retry'),
              context.operatorReference === undefined ? 'accent' : 'plain',
            ),
          ],
  });
}

/** Only the application that vouched for the user can sign them in again. */
export function signInAgainPage(context: PageContext, view: { readonly appName: ForeignText }): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('signInAgain.title'),
    icon: icons.person,
    heading: t.html('signInAgain.heading', { app: view.appName }),
    texts: [t.html('signInAgain.text', { app: view.appName })],
    actions: [linkButton('/me', t.html('account.back'), 'plain')],
  });
}

export function signedOutPage(context: PageContext, view: SignedOutView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('signedOut.heading'),
    icon: icons.person,
    heading: t.html('signedOut.heading'),
    ...signOutThere(t, t.html('signedOut.text'), view),
  });
}
