import { amountHtml } from './amounts.ts';
import type { AmountView, PaymentFactsView } from './approval-views.ts';
import { foreign } from './foreign-text.ts';
import { type Html, html, webUrl } from './html.ts';
import { fact, factBeside, hostText, personText } from './parts.ts';
import { paymentFacts, priceTag } from './payment-facts.ts';
import { timeText } from './times.ts';
import type { Translator } from './translator.ts';
import type { McpServerView, PersonView } from './views.ts';

/** An approval: who approved for whom, when and how. */
export interface ApprovedView {
  readonly mcpServer: McpServerView;
  readonly approvedAt: Date;
  /** Method of the approval. */
  readonly method: 'button' | 'passkey';
  readonly receiptNumber: string;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
}

/** One refund of a payment. */
export interface RefundView {
  readonly amount: AmountView;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly requestedAt: Date;
}

export interface PaymentReceiptView extends ApprovedView {
  readonly payment: PaymentFactsView;
  /** A processor has charged the user. */
  readonly paid: boolean;
  /** What was paid back since; absent if nothing. */
  readonly paidBack?: AmountView;
  /** Oldest first. */
  readonly refunds?: readonly RefundView[];
  /** The newest dispute at the user's bank. `won` and `lost` from the view of the payee. */
  readonly dispute?: 'open' | 'won' | 'lost';
}

/** The receipt of a payment below its heading. */
export function paymentReceipt(view: PaymentReceiptView, t: Translator): Html {
  const { payment, paid, paidBack, refunds = [], dispute, mcpServer } = view;
  const processor = payment.processor?.name;
  const taken = processor === undefined ? t.html('receipt.paid') : t.html('receipt.paidAt', { processor });
  const payable = t.html('receipt.collect', { mcpServer: mcpServer.name });
  const more = [
    factBeside(t.html('receipt.status'), html`<span class="value">${paid ? taken : payable}</span>`),
    ...(paidBack === undefined
      ? []
      : [factBeside(t.html('receipt.paidBack'), html`<span class="value">${amountHtml(paidBack, t)}</span>`)]),
    ...refunds.map(refund => fact(t.html('receipt.refund'), html`<span class="value">${refundText(refund, t)}</span>`)),
    ...(dispute === undefined
      ? []
      : [
          factBeside(
            t.html('receipt.dispute'),
            html`<span class="value">${t.html('receipt.disputeStatus', { status: dispute })}</span>`,
          ),
        ]),
    ...approvalFacts(view, t.html('receipt.approvedAt'), t),
  ];
  return html`<p>${t.html(paid ? 'receipt.recordPaid' : 'receipt.record')}</p>
${priceTag(payment, t)}${paymentFacts(payment, t, { more, payeeLabel: t.html('payment.payee') })}`;
}

export const refundText = ({ amount, status, requestedAt }: RefundView, t: Translator): Html =>
  t.html('receipt.refundStatus', { status, amount: amountHtml(amount, t), time: timeText(requestedAt, 'stamp', t) });

/**
 * @param at label of the time
 * @param button what the button read, if it named an action
 */
export function approvalFacts(
  { approvedAt, method, person, receiptNumber, mcpServer }: ApprovedView,
  at: Html,
  t: Translator,
  button?: Html,
): readonly Html[] {
  return [
    fact(
      t.html('receipt.askedBy'),
      html`<span class="value" translate="no">${foreign(mcpServer.name, t)}</span><span class="detail">${hostText(mcpServer.host)}</span>`,
    ),
    ...(person === undefined ? [] : [fact(t.html('receipt.by'), personText(person, t))]),
    factBeside(at, html`<span class="value">${timeText(approvedAt, 'moment', t)}</span>`),
    factBeside(
      t.html('receipt.how'),
      html`<span class="value">${t.html('receipt.method', { method })}</span>${button && html`<span class="detail">${button}</span>`}`,
    ),
    fact(t.html('receipt.number'), html`<code class="receipt-number" dir="ltr" translate="no">${receiptNumber}</code>`),
  ];
}

/** Leads to the receipt to print or save. */
export function receiptLink(receiptHref: string, t: Translator): Html {
  return html`<a class="link" href="${webUrl(receiptHref)}">${t.html('receipt.open')}</a>`;
}
