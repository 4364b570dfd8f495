import type { ConfirmationFactsView } from '../approval-views.ts';
import { confirmationFacts } from '../confirmation-facts.ts';
import { html } from '../html.ts';
import { icons } from '../icons.ts';
import { messagePage } from '../message-page.ts';
import { factBeside, facts } from '../parts.ts';
import { receiptLink } from '../receipt-parts.ts';
import { timeText } from '../times.ts';
import { translatorFor } from '../translator.ts';
import type { McpServerView, PageContext } from '../views.ts';
import { type WayBackView, wayBack } from '../way-back.ts';

export interface ConfirmedView extends WayBackView {
  readonly mcpServer: McpServerView;
  readonly confirmation: ConfirmationFactsView;
  readonly approvedAt: Date;
  readonly receiptHref: string;
}

/** The user has confirmed. */
export function confirmedPage(context: PageContext, view: ConfirmedView): string {
  const t = translatorFor(context);
  const back = wayBack(view, t);
  const mcpServer = view.mcpServer.name;
  return messagePage(context, t, {
    title: t.plain('confirmed.heading'),
    icon: icons.check,
    tone: 'good',
    heading: t.html('confirmed.heading'),
    texts: [back.text],
    body: html`${confirmationFacts(view.confirmation, { label: t.html('confirmed.label'), mcpServer }, t)}
${facts([factBeside(t.html('confirmed.at'), html`<span class="value">${timeText(view.approvedAt, 'moment', t)}</span>`)])}
<div class="fine"><p>${receiptLink(view.receiptHref, t)}</p></div>`,
    actions: back.actions,
  });
}
