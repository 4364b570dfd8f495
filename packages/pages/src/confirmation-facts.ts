import { amountHtml } from './amounts.ts';
import type { ConfirmationFactsView, FactView } from './approval-views.ts';
import { type ForeignText, foreign } from './foreign-text.ts';
import { type Html, html, ownText } from './html.ts';
import { fact, hostText } from './parts.ts';
import { offsetTimeText } from './times.ts';
import type { Translator } from './translator.ts';

/**
 * Renders a confirmation: the MCP server's sentence and typed facts in a frame that names their author.
 */
export function confirmationFacts(
  { title, facts }: ConfirmationFactsView,
  names: { label: Html; mcpServer: ForeignText },
  t: Translator,
): Html {
  const rows = facts.map(one => fact(foreign(one.label, t), factValue(one, t)));
  const list = rows.length === 0 ? undefined : html`<dl class="facts">${rows}</dl>`;
  return html`<section class="statement" aria-labelledby="statement-heading">
<h2 id="statement-heading">${names.label}</h2>
<p class="statement-title" dir="auto">${foreign(title, t)}</p>
${list}
<p class="claim">${t.html('confirmation.stated', { mcpServer: names.mcpServer })}</p>
</section>`;
}

/** Renders what the accepting button reads if the MCP server named the action: our verb first, so that it never reads "Decline". */
export const actionLabel = ({ action }: ConfirmationFactsView, t: Translator): Html | undefined =>
  action === undefined ? undefined : t.html('confirmation.acceptAction', { action });

function factValue(one: FactView, t: Translator): Html {
  switch (one.type) {
    case 'text':
      return html`<span class="value">${foreign(one.value, t)}</span>`;
    case 'number':
      return html`<span class="value">${ownText(numberText(one.value, t))}</span>`;
    case 'amount':
      return html`<span class="value">${amountHtml(one.value, t)}</span>`;
    case 'time':
      return html`<span class="value">${offsetTimeText(one.value, t)}</span>`;
    case 'host':
      return html`<span class="value">${hostText(one.value)}</span>`;
  }
}

/** Formats a number with all significant digits; very long numbers as powers of ten. */
function numberText(value: number, t: Translator): string {
  if (!Number.isFinite(value)) throw new TypeError('not a number');
  const shortest = String(value);
  const notation = shortest.includes('e') ? 'scientific' : 'standard';
  const format = new Intl.NumberFormat(t.locale, { notation, maximumFractionDigits: 20, signDisplay: 'negative' });
  return format.format(shortest as Intl.StringNumericLiteral);
}
