import type { PaymentFactsView } from './approval-views.ts';
import { type Html, html, webUrl } from './html.ts';
import { asker, paragraphs, personFact, postForm, submitButton } from './parts.ts';
import { paymentFacts } from './payment-facts.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PersonView } from './views.ts';

export interface PaymentWaitView {
  readonly mcpServer: McpServerView;
  readonly payment: PaymentFactsView;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  readonly declineAction: string;
  /** Link back to the decision. */
  readonly backHref: string;
  readonly csrfToken: string;
}

/** Renders a payment that the user cannot approve now: the reason, the terms, and the decline button. */
export function paymentWait(
  view: PaymentWaitView,
  { heading, lead }: { readonly heading: Html; readonly lead: readonly Html[] },
  t: Translator,
): Html {
  const person = view.person === undefined ? [] : [personFact(view.person, t)];
  return html`${asker(view.mcpServer, t)}
<h1>${heading}</h1>
<div class="lead">${paragraphs(lead)}</div>
${paymentFacts(view.payment, t, person)}
<div class="actions">
${postForm({ action: view.declineAction, csrfToken: view.csrfToken }, submitButton(t.html('decision.decline'), 'plain'))}
</div>
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>`;
}
