import type { PaymentFactsView } from './approval-views.ts';
import { actionBar, pageHead, personRow } from './decision-parts.ts';
import { type Html, html } from './html.ts';
import { namedMark } from './marks.ts';
import { linkButton, paragraphs, postForm, submitButton } from './parts.ts';
import { paymentFacts, priceTag } from './payment-facts.ts';
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
  { key, lead }: { readonly key: 'passkeyWait.heading' | 'dailyLimit.heading'; readonly lead: readonly Html[] },
  t: Translator,
): Html {
  const { mcpServer, payment, person, csrfToken } = view;
  return html`${pageHead({ mcpServer, counterpart: namedMark(payment.payeeName), heading: t.html(key), title: t.plain(key), isNamed: false }, t)}
${priceTag(payment, t)}
<div class="lead">${paragraphs(lead)}</div>
${paymentFacts(payment, t)}
${actionBar(
  {
    person: person && personRow(person, t),
    buttons: [
      linkButton(view.backHref, t.html('passkey.back'), 'plain'),
      postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('decision.decline'), 'plain')),
    ],
  },
  t,
)}`;
}
