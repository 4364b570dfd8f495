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
  /** The processor could not be asked. */
  | 'processor_unavailable'
  /** The person has paid, and the processor has not finished yet. */
  | 'processing'
  /** The person came back, and the processor knows of no payment. */
  | 'not_paid_yet';

/** The amount was approved here and is to be paid at the processor. */
export interface ChargeView extends Deadline {
  readonly mcpServer: McpServerView;
  /** With its processor. */
  readonly payment: PaymentFactsView;
  /** Absent on one-person machines, where nobody signs in. */
  readonly person?: PersonView;
  /** Where the person pays: https (or http on the loopback), at the processor's host. */
  readonly continueHref?: string;
  /** Takes the POST that asks the processor once more, where there is no such address yet. */
  readonly continueAction?: string;
  /** This page, which asks the processor whether it was paid. */
  readonly checkHref?: string;
  /** Takes the POST of a person who does not want to pay after all. */
  readonly declineAction: string;
  readonly csrfToken: string;
  readonly notice?: ChargeNotice;
}

/**
 * The step between the approval and the processor. It carries a link for the same reason as the page that leads to a provider
 * (security.md T25).
 *
 * @throws TypeError when the payment has no processor, or the link would lead to another host than the page names or there
 *   without TLS.
 */
export function chargePage(context: PageContext, view: ChargeView): string {
  const t = translatorFor(context.locale);
  const { payment } = view;
  const { processor } = payment;
  if (processor === undefined) throw new TypeError('without a processor nothing is paid elsewhere');
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

/** Two buttons while there is something to decide, only the look at the result while the processor works. */
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

/** Plain http only where it does not leave the machine: an operator who tries things out. */
function isSafeTransport({ protocol, hostname }: URL): boolean {
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.[0-9.]+$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}

/** A charge may outlive its request by the time it takes to pay; then there is no end to name. */
function timeLeft(view: ChargeView, t: Translator): Html | undefined {
  if (view.now !== undefined && view.now >= view.expiresAt) return undefined;
  return html`<p>${deadline(view, 'decision', t)}</p>`;
}
