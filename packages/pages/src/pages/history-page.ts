/** What the user answered lately, with links to the receipts. */

import { amountHtml } from '../amounts.ts';
import type { AmountView } from '../approval-views.ts';
import type { ForeignText } from '../foreign-text.ts';
import { type Html, html, webUrl } from '../html.ts';
import { icons } from '../icons.ts';
import { layout } from '../layout.ts';
import { linkRow, plainRow } from '../me-entries.ts';
import { linkButton } from '../parts.ts';
import { type RefundView, receiptLink, refundText } from '../receipt-parts.ts';
import { daysText, hoursText, timeText } from '../times.ts';
import { type Translator, translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

/** The subject of an ended elicitation. Titles are texts of the MCP server. */
export type AnsweredAbout =
  | { readonly kind: 'authorization'; readonly providerName: string }
  | { readonly kind: 'payment'; readonly amount: AmountView; readonly payeeName: string }
  | { readonly kind: 'confirmation' | 'credential' | 'form'; readonly title?: ForeignText };

export interface AnsweredView {
  readonly mcpServerName: ForeignText;
  readonly about: AnsweredAbout;
  readonly status: 'completed' | 'declined' | 'failed';
  readonly endedAt: Date;
  /** The page of the elicitation. */
  readonly openHref: string;
  /** Present after an approval. */
  readonly receiptHref?: string;
  /** Of a payment, oldest first. */
  readonly refunds?: readonly RefundView[];
}

/** A payment whose elicitation is no longer stored. */
export interface PaidView {
  readonly mcpServerName: ForeignText;
  readonly amount: AmountView;
  readonly paidAt: Date;
  readonly isTest: boolean;
  /** Oldest first. */
  readonly refunds: readonly RefundView[];
}

export function historyPage(
  context: PageContext,
  view: {
    readonly answered: readonly AnsweredView[];
    /** How long an answer stays. */
    readonly answersKeptHours: number;
    /** A page of the payments beside `answered`, newest first. */
    readonly earlier: readonly PaidView[];
    readonly paymentsKeptDays: number;
    readonly newerHref?: string;
    readonly olderHref?: string;
    readonly backHref: string;
  },
): string {
  const t = translatorFor(context);
  const hours = hoursText(view.answersKeptHours, t);
  const list =
    view.answered.length === 0
      ? html`<p class="empty">${t.html('history.none', { hours })}</p>`
      : html`<ul class="entries">${view.answered.map(answered => answeredEntry(answered, t))}</ul>`;
  const turn = (href: string | undefined, label: Html) =>
    href === undefined ? [] : [html`<a class="link" href="${webUrl(href)}">${label}</a>`];
  const turns = [...turn(view.newerHref, t.html('history.newer')), ...turn(view.olderHref, t.html('history.older'))];
  const main = html`<h1>${t.html('history.heading')}</h1>
${view.newerHref === undefined ? html`<div class="lead"><p>${t.html('history.text', { hours })}</p></div>${list}` : undefined}
${view.earlier.length === 0 ? undefined : html`<section class="group" aria-labelledby="earlier"><h2 id="earlier">${t.html('history.earlier')}</h2><p class="lead">${t.html('history.earlierText', { days: daysText(view.paymentsKeptDays, t) })}</p><ul class="entries">${view.earlier.map(paid => paidEntry(paid, t))}</ul></section>`}
${turns.length === 0 ? undefined : html`<p class="turns">${turns}</p>`}
<div class="actions">${linkButton(view.backHref, t.html('account.back'), 'plain')}</div>`;
  return layout(context, t, { title: t.plain('history.heading'), main });
}

function answeredEntry(
  { mcpServerName, about, status, endedAt, openHref, receiptHref, refunds = [] }: AnsweredView,
  t: Translator,
): Html {
  const ended = status === 'completed' ? t.html(`history.status.${about.kind}`) : t.html(`history.status.${status}`);
  return linkRow({
    href: openHref,
    mark: status === 'completed' ? icons.check : icons.minus,
    name: html`${ended}: ${subjectOf(about, t)}`,
    notes: [
      'title' in about && about.title !== undefined
        ? t.html('account.title', { mcpServer: mcpServerName, title: about.title })
        : undefined,
      t.html('history.when', { mcpServer: mcpServerName, time: timeText(endedAt, 'stamp', t) }),
      ...refundNotes(refunds, t),
    ],
    more: receiptHref === undefined ? undefined : receiptLink(receiptHref, t),
  });
}

function paidEntry({ mcpServerName, amount, paidAt, isTest, refunds }: PaidView, t: Translator): Html {
  return plainRow({
    mark: icons.check,
    name: html`${t.html('history.paid')}: ${amountHtml(amount, t)}`,
    notes: [
      isTest ? t.html('history.paidTest') : undefined,
      t.html('history.when', { mcpServer: mcpServerName, time: timeText(paidAt, 'stamp', t) }),
      ...refundNotes(refunds, t),
    ],
  });
}

const refundNotes = (refunds: readonly RefundView[], t: Translator) =>
  refunds.map(refund => html`${t.html('receipt.refund')}: ${refundText(refund, t)}`);

function subjectOf(about: AnsweredAbout, t: Translator): Html {
  switch (about.kind) {
    case 'authorization':
      return t.html('history.authorization', { provider: about.providerName });
    case 'payment':
      return t.html('history.payment', { amount: amountHtml(about.amount, t), payee: about.payeeName });
    default:
      return t.html(`history.${about.kind}`);
  }
}
