import { amountText } from '../amounts.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { type PaymentReceiptView, paymentReceipt, receiptLink } from '../receipt-parts.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface PaymentDoneView extends WayBackView, PaymentReceiptView {
  readonly receiptHref: string;
}

/** Shows after an approval what to do next, and a printable receipt. */
export function paymentDonePage(context: PageContext, view: PaymentDoneView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const heading = view.paid ? 'receipt.headingPaid' : 'receipt.headingApproved';
  const amount = amountText(view.payment.amount, t);
  return messagePage(context, t, {
    title: t.plain(heading, { amount }),
    icon: icons.check,
    tone: 'good',
    heading: t.html(heading, { amount }),
    texts: [back.text],
    body: html`<section class="receipt" aria-labelledby="receipt-heading">
<h2 id="receipt-heading">${t.html('receipt.heading')}</h2>
${paymentReceipt(view, t)}
</section>
<div class="fine"><p>${receiptLink(view.receiptHref, t)}</p></div>`,
    actions: back.actions,
  });
}
