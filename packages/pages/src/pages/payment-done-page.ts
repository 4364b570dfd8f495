import { amountText } from '../amounts.ts';
import type { PaymentFactsView } from '../approval-views.ts';
import { foreign } from '../foreign-text.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { fact, factBeside, hostText, personText } from '../parts.ts';
import { paymentFacts, priceTag } from '../payment-facts.ts';
import { timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { McpServerView, PageContext, PersonView } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface PaymentDoneView extends WayBackView {
  readonly mcpServer: McpServerView;
  readonly payment: PaymentFactsView;
  readonly approvedAt: Date;
  /** A processor has charged the user. */
  readonly paid: boolean;
  /** Method of the approval. */
  readonly method: 'button' | 'passkey';
  readonly receiptNumber: string;
  /** Absent in single-user mode, which has no sign-in. */
  readonly person?: PersonView;
}

/** Shows after an approval what to do next, and a printable receipt. */
export function paymentDonePage(context: PageContext, view: PaymentDoneView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const heading = view.paid ? 'receipt.headingPaid' : 'receipt.headingApproved';
  const amount = amountText(view.payment.amount, t);
  const record = t.html(view.paid ? 'receipt.recordPaid' : 'receipt.record');
  return messagePage(context, t, {
    title: t.plain(heading, { amount }),
    icon: icons.check,
    tone: 'good',
    heading: t.html(heading, { amount }),
    texts: [back.text],
    body: html`<section class="receipt" aria-labelledby="receipt-heading">
<h2 id="receipt-heading">${t.html('receipt.heading')}</h2>
<p>${record}</p>
${priceTag(view.payment, t)}${paymentFacts(view.payment, t, { more: approvalFacts(view, t), payeeLabel: t.html('payment.payee') })}
</section>
<div class="fine"><p>${t.html('receipt.print')}</p></div>`,
    actions: back.actions,
  });
}

function approvalFacts(
  { payment, paid, approvedAt, method, person, receiptNumber, mcpServer }: PaymentDoneView,
  t: Translator,
) {
  const processor = payment.processor?.name;
  const taken = processor === undefined ? t.html('receipt.paid') : t.html('receipt.paidAt', { processor });
  const payable = t.html('receipt.collect', { mcpServer: mcpServer.name });
  return [
    factBeside(t.html('receipt.status'), html`<span class="value">${paid ? taken : payable}</span>`),
    fact(
      t.html('receipt.askedBy'),
      html`<span class="value" translate="no">${foreign(mcpServer.name, t)}</span><span class="detail">${hostText(mcpServer.host)}</span>`,
    ),
    ...(person === undefined ? [] : [fact(t.html('receipt.by'), personText(person, t))]),
    factBeside(t.html('receipt.approvedAt'), html`<span class="value">${timeText(approvedAt, 'moment', t)}</span>`),
    factBeside(t.html('receipt.how'), html`<span class="value">${t.html('receipt.method', { method })}</span>`),
    fact(t.html('receipt.number'), html`<code class="receipt-number" dir="ltr" translate="no">${receiptNumber}</code>`),
  ];
}
