import { amountHtml, amountText } from './amounts.ts';
import type { PaymentFactsView, PaymentItemView } from './approval-views.ts';
import { foreign } from './foreign-text.ts';
import { type Html, html, joinHtml, ownText } from './html.ts';
import { fact, factBeside } from './parts.ts';
import type { Translator } from './translator.ts';

/** The terms of a payment in their fixed order below its amount: payee, items with their total, reference. */
export function paymentFacts(
  payment: PaymentFactsView,
  t: Translator,
  {
    more = [],
    payeeLabel = t.html('payment.payeeBefore'),
  }: { readonly more?: readonly Html[]; readonly payeeLabel?: Html } = {},
): Html {
  const { payeeName, payeeNamedBy, items = [], reference } = payment;
  const unverified =
    payeeNamedBy && html`<span class="detail">${t.html('payment.payeeNotVerified', payeeNamedBy)}</span>`;
  return html`<dl class="facts bill">
${factBeside(payeeLabel, html`<span class="value" translate="no">${payeeName}</span>${unverified}`)}
${items.length === 0 ? undefined : fact(t.html('payment.items'), itemTable(items, payment, t))}
${factBeside(t.html('payment.reference'), html`<span class="value" translate="no">${reference}</span>`)}
${joinHtml(more)}
</dl>`;
}

/** The amount, once and large, never broken within the number; with the warning of the test mode. */
export function priceTag({ amount, isTest }: PaymentFactsView, t: Translator): Html {
  const { length } = amountText(amount, t);
  const size = length <= 9 ? 'sum-1' : length <= 14 ? 'sum-2' : length <= 19 ? 'sum-3' : 'sum-4';
  return html`<p class="${`price ${size}`}"><span class="unseen">${t.html('payment.amount')} </span><strong class="sum">${amountHtml(amount, t)}</strong></p>${isTest ? testNotice(t) : undefined}`;
}

/** Shown on every page with the terms, so that users do not mistake a test for a payment. */
function testNotice(t: Translator): Html {
  return html`<div class="notice test-mode"><p>${t.html('payment.testMode')}</p></div>`;
}

function itemTable(items: readonly PaymentItemView[], { amount }: PaymentFactsView, t: Translator): Html {
  const rows = items.map(
    item =>
      html`<tr><th scope="row" translate="no">${foreign(item.label, t)}</th><td>${amountHtml(item.total, t)}</td></tr>${pieces(item, t)}`,
  );
  return html`<table class="items"><thead class="unseen"><tr><th scope="col">${t.html('payment.item')}</th><th scope="col">${t.html('payment.itemTotal')}</th></tr></thead>
<tbody>${rows}</tbody>
<tfoot><tr><th scope="row">${t.html('payment.total')}</th><td>${amountHtml(amount, t)}</td></tr></tfoot></table>`;
}

/** Quantity and unit price, if the quantity is not one. */
function pieces({ quantity, unit }: PaymentItemView, t: Translator): Html | undefined {
  if (quantity === 1) return undefined;
  const count = ownText(new Intl.NumberFormat(t.locale).format(quantity));
  return html`<tr class="pieces"><td colspan="2">${t.html('payment.quantity', { quantity: count, unit: amountHtml(unit, t) })}</td></tr>`;
}
