import { actionBar, pageHead, personRow } from '../decision-parts.ts';
import { html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { namedMark } from '../marks.ts';
import { linkButton, paragraphs, postForm, submitButton } from '../parts.ts';
import { paymentFacts, priceTag } from '../payment-facts.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';
import type { PasskeyWaitView } from './passkey-wait-page.ts';

export interface PasskeySignInView extends Omit<PasskeyWaitView, 'countsFrom'> {
  readonly signInHref: string;
}

/**
 * Asks for the sign-in before a first passkey. It contains a link, because `form-action 'self'` blocks a redirect to
 * the identity provider after a form post (security.md T25).
 */
export function passkeySignInPage(context: PageContext, view: PasskeySignInView): string {
  const t = translatorFor(context);
  const title = t.plain('passkeySignIn.heading');
  const { mcpServer, payment, person, csrfToken } = view;
  const main = html`${pageHead({ mcpServer, counterpart: namedMark(payment.payeeName), heading: t.html('passkeySignIn.heading'), title, isNamed: false }, t)}
${priceTag(payment, t)}
<div class="lead">${paragraphs([t.html('passkeySignIn.text')])}</div>
${paymentFacts(payment, t)}
${actionBar(
  {
    person: person && personRow(person, t),
    buttons: [
      postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('decision.decline'), 'plain')),
      linkButton(view.signInHref, t.html('signIn.continue'), 'accent'),
    ],
  },
  t,
)}
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>`;
  return layout(context, t, { title, main });
}
