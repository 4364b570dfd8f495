import { amountText } from '../amounts.ts';
import type { PaymentFactsView } from '../approval-views.ts';
import { displayHost } from '../display-host.ts';
import { type Html, html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { asker, destination, facts, linkButton, operatorNotice, personFact, postForm, submitButton } from '../parts.ts';
import { paymentFacts } from '../payment-facts.ts';
import { type Deadline, deadline } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView } from '../views.ts';

type Processor = NonNullable<PaymentFactsView['processor']>;

export type ChargeNotice =
  /** The processor is unavailable. */
  | 'processor_unavailable'
  /** The user has paid, and the processor has not finished yet. */
  | 'processing'
  /** The user returned, and the processor has no payment. */
  | 'not_paid_yet';

/** The user approved the amount here and pays at the processor. */
export interface ChargeView extends Deadline {
  readonly mcpServer: McpServerView;
  /** Must have a processor. */
  readonly payment: PaymentFactsView;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
  /** URL of the payment page: https (or http on loopback), at the processor's host. */
  readonly continueHref?: string;
  /** Target of the POST that retries the request to the processor, if there is no URL yet. */
  readonly continueAction?: string;
  /** This page, which checks the payment at the processor. */
  readonly checkHref?: string;
  /** Target of the POST that cancels the payment. */
  readonly declineAction: string;
  readonly csrfToken: string;
  readonly notice?: ChargeNotice;
}

/**
 * The page between the approval and the processor. It contains a link for the same reason as the leaving page
 * (security.md T25).
 *
 * @throws TypeError when the payment has no processor, or the link leads to another host than the page names or uses no
 *   TLS.
 */
export function chargePage(context: PageContext, view: ChargeView): string {
  const t = translatorFor(context);
  const { payment } = view;
  const { processor } = payment;
  if (processor === undefined) throw new TypeError('a charge page needs a payment with a processor');
  const amount = amountText(payment.amount, t);
  const isProcessing = view.notice === 'processing';
  const heading = isProcessing
    ? {
        title: t.plain('charge.headingProcessing', { processor: processor.name }),
        html: t.html('charge.headingProcessing', { processor: processor.name }),
      }
    : {
        title: t.plain('charge.heading', { amount, processor: processor.name }),
        html: t.html('charge.heading', { amount, processor: processor.name }),
      };
  const lead = isProcessing
    ? t.html('charge.textProcessing')
    : t.html('charge.text', { processor: processor.name, payee: payment.payeeName });
  const main = html`${noticeBlock(context, view.notice, processor.name, t)}
${asker(view.mcpServer, t)}
<h1>${heading.html}</h1>
<div class="lead"><p>${lead}</p></div>
${paymentFacts(payment, t)}
${facts([
  isProcessing ? undefined : destination(processor.host, t),
  view.person === undefined ? undefined : personFact(view.person, t),
])}
${actions(view, processor, t)}
<div class="fine"><p>${t.html('charge.reassurance')}</p>${timeLeft(view, t)}</div>`;
  return layout(context, t, { title: heading.title, main });
}

function noticeBlock(
  context: PageContext,
  notice: ChargeNotice | undefined,
  processor: string,
  t: Translator,
): Html | undefined {
  if (notice === undefined || notice === 'processing') return undefined;
  const fault = notice === 'processor_unavailable' ? operatorNotice(context, t) : undefined;
  return html`<div class="notice"><p>${fault ?? t.html(`charge.notice.${notice}`, { processor })}</p></div>`;
}

/** Two buttons while the user can decide, and only the check of the result while the processor works. */
function actions(view: ChargeView, processor: Processor, t: Translator): Html {
  const { csrfToken } = view;
  if (view.notice === 'processing') {
    return view.checkHref === undefined
      ? html``
      : html`<div class="actions">${linkButton(view.checkHref, t.html('charge.checkProcessing'), 'plain')}</div>`;
  }
  const check =
    view.checkHref === undefined
      ? undefined
      : html`<p><a class="link" href="${webUrl(view.checkHref)}">${t.html('charge.check')}</a></p>`;
  return html`<div class="actions decision" role="group" aria-label="${t.plain('decision.label')}">
${postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('charge.stop'), 'plain'))}
${onward(view, processor, t)}
</div>
${check}`;
}

function onward(
  { continueHref, continueAction, csrfToken, notice }: ChargeView,
  { name, host }: Processor,
  t: Translator,
): Html | undefined {
  if (continueHref !== undefined) {
    const target = new URL(continueHref);
    if (!isSafeTransport(target) || displayHost(target) !== host) {
      throw new TypeError('the link leads to another host than the page names');
    }
    return linkButton(target.href, t.html('charge.continue', { processor: name }), 'accent');
  }
  if (continueAction === undefined) return undefined;
  const label =
    notice === 'processor_unavailable' ? t.html('charge.tryAgain') : t.html('charge.continue', { processor: name });
  return postForm({ action: continueAction, csrfToken }, submitButton(label, 'accent'));
}

/** Allows plain http only on loopback, for an operator who tries Postern out. */
function isSafeTransport({ protocol, hostname }: URL): boolean {
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.[0-9.]+$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}

/** A charge may still be payable after its request has expired. Then the page names no expiry. */
function timeLeft(view: ChargeView, t: Translator): Html | undefined {
  if (view.now !== undefined && view.now >= view.expiresAt) return undefined;
  return html`<p>${deadline(view, 'decision', t)}</p>`;
}
