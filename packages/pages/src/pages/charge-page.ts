import { amountText } from '../amounts.ts';
import type { PaymentFactsView } from '../approval-views.ts';
import { actionBar, pageHead, personRow, toward } from '../decision-parts.ts';
import { displayHost } from '../display-host.ts';
import { type Html, html, webUrl } from '../html.ts';
import { layout } from '../layout.ts';
import { type WatchView, watchPart } from '../live-parts.ts';
import { namedMark } from '../marks.ts';
import { linkButton, operatorNotice, postForm, submitButton } from '../parts.ts';
import { paymentFacts, priceTag } from '../payment-facts.ts';
import { maxButtonHost, shortName, widthOf } from '../text-width.ts';
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
  readonly watch?: WatchView;
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
  const names = { processor: processor.name };
  const heading = isProcessing
    ? { title: t.plain('charge.headingProcessing', names), html: t.html('charge.headingProcessing', names) }
    : { title: t.plain('charge.heading', { ...names, amount }), html: t.html('charge.ask', names) };
  const lead = isProcessing
    ? t.html('charge.textProcessing')
    : t.html('charge.text', { processor: shortName(processor.name), payee: shortName(payment.payeeName) });
  const main = html`${noticeBlock(context, view.notice, shortName(processor.name), t)}
${pageHead({ mcpServer: view.mcpServer, counterpart: namedMark(processor.name), heading: heading.html, title: heading.title, isNamed: false }, t)}
${priceTag(payment, t)}
<div class="lead"><p>${lead}</p></div>
${paymentFacts(payment, t)}
${actions(context, view, processor, t)}
<div class="fine"><p>${t.html('charge.reassurance')}</p>${timeLeft(view, t)}</div>
${watchPart(view.watch, t)}`;
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
function actions(context: PageContext, view: ChargeView, processor: Processor, t: Translator): Html {
  const { csrfToken, checkHref } = view;
  const person = view.person && personRow(view.person, t);
  if (view.notice === 'processing') {
    if (checkHref === undefined) return html`${person}`;
    return actionBar({ person, buttons: [linkButton(checkHref, t.html('charge.checkProcessing'), 'plain')] }, t);
  }
  const check =
    checkHref === undefined
      ? undefined
      : html`<p><a class="link" href="${webUrl(checkHref)}">${t.html('charge.check')}</a></p>`;
  const stop = postForm({ action: view.declineAction, csrfToken }, submitButton(t.html('charge.stop'), 'plain'));
  const go = onward(context, view, processor, t);
  return html`${check}${actionBar({ person, above: toward(processor.host, t), buttons: go === undefined ? [stop] : [stop, go] }, t)}`;
}

/** A name that does not fit is left out: the page names the host above the buttons. */
function continueLabel(processor: string, t: Translator): Html {
  return widthOf(processor) <= maxButtonHost ? t.html('charge.continue', { processor }) : t.html('connect.accept');
}

function onward(
  { operatorReference }: PageContext,
  { continueHref, continueAction, csrfToken, notice }: ChargeView,
  { name, host }: Processor,
  t: Translator,
): Html | undefined {
  if (continueHref !== undefined) {
    const target = new URL(continueHref);
    if (!isSafeTransport(target) || displayHost(target) !== host) {
      throw new TypeError('the link leads to another host than the page names');
    }
    return linkButton(target.href, continueLabel(name, t), 'accent');
  }
  if (continueAction === undefined) return undefined;
  const isRetry = notice === 'processor_unavailable';
  const label = isRetry ? t.html('charge.tryAgain') : continueLabel(name, t);
  const look = isRetry && operatorReference !== undefined ? 'plain' : 'accent';
  return postForm({ action: continueAction, csrfToken }, submitButton(label, look));
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
