import type { PaymentFactsView } from '../approval-views.ts';
import { html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { asker, paragraphs, personFact, postForm, submitButton } from '../parts.ts';
import { paymentFacts } from '../payment-facts.ts';
import { timeText } from '../times.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView } from '../views.ts';

export interface PasskeyWaitView {
  readonly mcpServer: McpServerView;
  readonly payment: PaymentFactsView;
  /** Absent on one-person machines, where nobody signs in. */
  readonly person?: PersonView;
  /** From when on the passkey of the person counts. */
  readonly countsFrom: Date;
  readonly declineAction: string;
  /** Back to the decision. */
  readonly backHref: string;
  readonly csrfToken: string;
}

/** Says from when on a passkey counts for a payment of this size. */
export function passkeyWaitPage(context: PageContext, view: PasskeyWaitView): string {
  const t = translatorFor(context.locale);
  const person = view.person === undefined ? [] : [personFact(view.person, t)];
  const lead = [
    t.html('passkeyWait.from', { time: timeText(view.countsFrom, 'moment', t) }),
    t.html('passkeyWait.why', { brand: context.branding.name }),
  ];
  const main = html`${asker(view.mcpServer, t)}
<h1>${t.html('passkeyWait.heading')}</h1>
<div class="lead">${paragraphs(lead)}</div>
${paymentFacts(view.payment, t, person)}
<div class="actions">
${postForm({ action: view.declineAction, csrfToken: view.csrfToken }, submitButton(t.html('decision.decline'), 'plain'))}
</div>
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>`;
  return layout(context, t, { title: t.plain('passkeyWait.heading'), main });
}
