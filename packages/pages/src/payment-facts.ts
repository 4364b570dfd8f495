import { amountHtml } from './amounts.ts';
import type { PaymentFactsView, PaymentItemView } from './approval-views.ts';
import { type Html, html, joinHtml, ownText } from './html.ts';
import { fact, factBeside } from './parts.ts';
import type { Translator } from './translator.ts';

/** The terms of a payment in their fixed order: payee, amount, items with their total, reference. */
export function paymentFacts(payment: PaymentFactsView, t: Translator, more: readonly Html[] = []): Html {
  const { payeeName, amount, items = [], reference } = payment;
  return html`${payment.isTest ? testNotice(t) : undefined}
<dl class="facts bill">
${fact(t.html('payment.payee'), html`<span class="value" translate="no">${payeeName}</span>`)}
${fact(t.html('payment.amount'), html`<strong class="sum">${amountHtml(amount, t)}</strong>`)}
${items.length === 0 ? undefined : fact(t.html('payment.items'), itemTable(items, payment, t))}
${factBeside(t.html('payment.reference'), html`<span class="value" translate="no">${reference}</span>`)}
${joinHtml(more)}
</dl>`;
}

/** Shown on every page with the terms, so that users do not mistake a test for a payment. */
function testNotice(t: Translator): Html {
  return html`<div class="notice test-mode"><p>${t.html('payment.testMode')}</p></div>`;
}

function itemTable(items: readonly PaymentItemView[], { amount }: PaymentFactsView, t: Translator): Html {
  const rows = items.map(
    item =>
      html`<tr><th scope="row"><span translate="no">${item.label}</span>${pieces(item, t)}</th><td>${amountHtml(item.total, t)}</td></tr>`,
  );
  return html`<table class="items"><thead class="unseen"><tr><th scope="col">${t.html('payment.item')}</th><th scope="col">${t.html('payment.itemTotal')}</th></tr></thead>
<tbody>${rows}</tbody>
<tfoot><tr><th scope="row">${t.html('payment.total')}</th><td>${amountHtml(amount, t)}</td></tr></tfoot></table>`;
}

/** Quantity and unit price, if the quantity is not one. */
function pieces({ quantity, unit }: PaymentItemView, t: Translator): Html | undefined {
  if (quantity === 1) return undefined;
  const count = ownText(new Intl.NumberFormat(t.locale).format(quantity));
  return html`<span class="detail">${t.html('payment.quantity', { quantity: count, unit: amountHtml(unit, t) })}</span>`;
}
