import { html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { asker, linkButton, paragraphs, personFact, postForm, submitButton } from '../parts.ts';
import { paymentFacts } from '../payment-facts.ts';
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
  const person = view.person === undefined ? [] : [personFact(view.person, t)];
  const main = html`${asker(view.mcpServer, t)}
<h1>${t.html('passkeySignIn.heading')}</h1>
<div class="lead">${paragraphs([t.html('passkeySignIn.text')])}</div>
${paymentFacts(view.payment, t, person)}
<div class="actions decision">
${postForm({ action: view.declineAction, csrfToken: view.csrfToken }, submitButton(t.html('decision.decline'), 'plain'))}
${linkButton(view.signInHref, t.html('signIn.continue'), 'accent')}
</div>
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>`;
  return layout(context, t, { title: t.plain('passkeySignIn.heading'), main });
}
