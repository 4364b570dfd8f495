import type { ConfirmationFactsView } from '../approval-views.ts';
import { actionLabel, confirmationFacts } from '../confirmation-facts.ts';
import { type Html, html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { linkButton } from '../parts.ts';
import { type ApprovedView, approvalFacts, type PaymentReceiptView, paymentReceipt } from '../receipt-parts.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

type ConfirmationReceiptView = ApprovedView & { readonly confirmation: ConfirmationFactsView };

export type ReceiptView = {
  /** The signed receipt as a file. */
  readonly downloadHref: string;
  readonly historyHref: string;
} & (
  | (PaymentReceiptView & { readonly kind: 'payment' })
  | (ConfirmationReceiptView & { readonly kind: 'confirmation' })
);

/** A receipt to print or save. On paper it has no links. */
export function receiptPage(context: PageContext, view: ReceiptView): string {
  const t = translatorFor(context);
  return messagePage(context, t, {
    title: t.plain('receipt.heading'),
    icon: icons.check,
    heading: t.html('receipt.heading'),
    texts: [t.html('receipt.signed', { brand: context.branding.name })],
    body:
      view.kind === 'payment'
        ? html`<section class="receipt">${paymentReceipt(view, t)}</section>`
        : confirmationReceipt(view, t),
    actions: [
      linkButton(view.downloadHref, t.html('receipt.download'), 'accent'),
      linkButton(view.historyHref, t.html('history.heading'), 'plain'),
    ],
  });
}

function confirmationReceipt(view: ConfirmationReceiptView, t: Translator): Html {
  const names = { label: t.html('confirmed.label'), mcpServer: view.mcpServer.name };
  const button = actionLabel(view.confirmation, t);
  return html`${confirmationFacts(view.confirmation, names, t)}
<dl class="facts receipt">${approvalFacts(view, t.html('confirmed.at'), t, button)}</dl>`;
}
