import { amountText } from '../amounts.ts';
import type { PaymentFactsView } from '../approval-views.ts';
import { actionBar, pageHead, personRow, type StepView } from '../decision-parts.ts';
import { html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { namedMark } from '../marks.ts';
import { paragraphs, postForm, submitButton } from '../parts.ts';
import { type CeremonyView, ceremonyForm, ceremonyNotes } from '../passkey-ceremony-form.ts';
import { paymentFacts } from '../payment-facts.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView } from '../views.ts';

/** `register`: the user adds a first passkey. `assert`: the user approves with a passkey. */
export interface PasskeyView extends CeremonyView {
  readonly mcpServer: McpServerView;
  readonly payment: PaymentFactsView;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  readonly declineAction: string;
  /** Link back to the decision. */
  readonly backHref: string;
  /** The digest of the terms on this page. The form returns it. */
  readonly shown: string;
  readonly notice?: 'failed' | 'not_added';
}

/**
 * Needs JavaScript, because browsers reach passkeys only through it. The script starts the ceremony only when the user presses the
 * button.
 */
export function passkeyPage(context: PageContext, view: PasskeyView): string {
  const t = translatorFor(context);
  const { mode, csrfToken, payment } = view;
  const amount = amountText(payment.amount, t);
  const heading = mode === 'register' ? 'passkey.headingRegister' : 'passkey.headingAssert';
  const notice =
    view.notice === undefined
      ? undefined
      : html`<div class="notice"><p>${t.html(`passkey.notice.${view.notice}`)}</p></div>`;
  const lead =
    mode === 'register'
      ? [t.html('passkey.textRegister'), t.html('passkey.textRegisterNext')]
      : [t.html('passkey.textAssert', { brand: context.branding.name })];
  const fine =
    mode === 'register'
      ? [t.html('passkey.reassuranceRegister')]
      : [t.html('passkey.reassuranceAssert'), t.html('passkeyChange.lost', { brand: context.branding.name })];
  const title = t.plain(heading, { amount });
  const main = html`${notice}
${pageHead({ mcpServer: view.mcpServer, counterpart: namedMark(payment.payeeName), heading: t.html(heading, { amount }), title, isNamed: false, step: stepOf(view) }, t)}
<div class="lead">${paragraphs(lead)}</div>
${paymentFacts(payment, t)}
${actionBar(
  {
    above: ceremonyNotes('passkey', t),
    person: view.person && personRow(view.person, t),
    buttons: [
      postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('decision.decline'), 'plain')),
      ceremonyForm(view, { label: t.html(mode === 'register' ? 'passkey.add' : 'passkey.start'), texts: 'passkey' }, t),
    ],
  },
  t,
)}
<p><a class="link" href="${webUrl(view.backHref)}">${t.html('passkey.back')}</a></p>
<div class="fine">${paragraphs(fine)}</div>`;
  return layout(context, t, { title, main });
}

/**
 * A first passkey is added in one step and used in the next. A user who has a passkey uses it on the page of the payment, and gets
 * here only after a failure, which is no further step.
 */
function stepOf({ mode, notice }: PasskeyView): StepView | undefined {
  if (mode === 'register') return { step: 1, steps: 2 };
  return notice === undefined ? { step: 2, steps: 2 } : undefined;
}
