import { type Html, html, ownPath } from '@postern/pages/html';
import { refusalText } from '../../admin/refunds.ts';
import type { PaymentDetail, PaymentItem, RefundPlan, TakenPayment } from '../admin-views.ts';
import type { ActView } from './act-page.ts';
import { amountText, plainAmount } from './amounts.ts';
import type { Configured, ListView } from './elicitation-pages.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { anyOf, code, facts, filters, linkTo, optional, pager, status, table, time } from './parts.ts';
import { noMatch } from './record-pages.ts';

const inCurrencyOf = ({ currency }: TakenPayment, minorUnits: number) => amountText({ currency, minorUnits });

/** What was paid back of each payment, pending refunds apart. */
function paidBack(payments: readonly TakenPayment[]): Html {
  const texts = payments.flatMap(of => {
    const pending = of.refunds
      .filter(each => each.status === 'pending')
      .reduce((sum, each) => sum + each.minorUnits, 0);
    return [
      ...(of.refundedMinorUnits === 0 ? [] : [inCurrencyOf(of, of.refundedMinorUnits)]),
      ...(pending === 0 ? [] : [`${inCurrencyOf(of, pending)} pending`]),
    ];
  });
  return optional(texts.length === 0 ? undefined : texts.join(', '));
}

function disputesOf(payments: readonly TakenPayment[]): Html {
  const statuses = payments.flatMap(({ disputes }) => disputes.map(dispute => dispute.status));
  return optional(statuses.length === 0 ? undefined : statuses.join(', '));
}

export function paymentsPage(
  page: SignedInPage,
  { query, items, next }: ListView<PaymentItem>,
  configured: Configured,
): string {
  const phase = query['phase'] === 'open' ? 'open' : 'ended';
  return consolePage(page, {
    title: 'Payments',
    at: '/payments',
    main: html`${filters('/payments', [
      {
        name: 'phase',
        label: 'Phase',
        value: phase,
        choices: [
          { value: 'ended', text: 'ended' },
          { value: 'open', text: 'open' },
        ],
      },
      {
        name: 'mcpServer',
        label: 'MCP server',
        value: query['mcpServer'] ?? '',
        choices: anyOf('any MCP server', configured.mcpServers),
      },
    ])}
${table({
  caption: 'Payments, newest first',
  columns: [
    { name: 'Payment of elicitation' },
    { name: 'Status' },
    { name: 'Amount', isNumber: true },
    { name: 'Paid back', isNumber: true },
    { name: 'Disputes' },
    { name: 'Mode' },
    { name: 'Payee' },
    { name: 'MCP server' },
    { name: 'Processor' },
    { name: 'Reference' },
    { name: 'Approved (UTC)' },
  ],
  rows: items.map(item => [
    html`<a href="${linkTo(`/payments/${item.elicitationId}`)}">${code(item.elicitationId)}</a>`,
    status(item.status),
    html`${amountText(item)}`,
    paidBack(item.payments),
    disputesOf(item.payments),
    optional(item.mode),
    html`${item.payee}`,
    html`${item.mcpServerId}`,
    html`${item.processor}`,
    item.processorReference === undefined ? optional(undefined) : code(item.processorReference),
    item.approvedAt === undefined ? optional(undefined) : time(item.approvedAt),
  ]),
  empty: noMatch(next),
})}
${pager('/payments', query, next)}`,
  });
}

/** Whether a replica of the gateway is about to ask the processor for a refund. */
const isUnderWay = ({ payments }: PaymentDetail): boolean =>
  payments.some(({ refunds }) =>
    refunds.some(each => each.status === 'pending' && each.processorReference === undefined),
  );

const LIVE_SECONDS = 2;

/** The payments of an elicitation. The page updates itself while a refund is not at its processor yet. */
export function paymentPage(page: SignedInPage, of: PaymentDetail): string {
  const { elicitationId, payments, requested } = of;
  const seesElicitation = page.role !== 'viewer' && of.status !== undefined;
  return consolePage(page, {
    title: `Payment ${elicitationId.slice(0, 12)}…`,
    at: '/payments',
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo('/payments')}">Payments</a></nav>`,
    live: { seconds: isUnderWay(of) ? LIVE_SECONDS : 0, reloads: true },
    main: html`${facts([
      [
        'Elicitation',
        seesElicitation
          ? html`<a href="${linkTo(`/elicitations/${elicitationId}`)}"><code class="whole">${elicitationId}</code></a>`
          : html`<code class="whole">${elicitationId}</code>`,
      ],
      ['Status', of.status && status(of.status)],
      ['MCP server', of.mcpServerId === undefined ? undefined : html`${of.mcpServerId}`],
      ['Person (pseudonym)', of.subject === undefined ? undefined : html`<code class="whole">${of.subject}</code>`],
      ['Payee', of.payee === undefined ? undefined : html`${of.payee}`],
      ['Requested', requested && html`${amountText(requested)} through ${requested.processor}`],
    ])}
${payments.length === 0 ? html`<p class="empty">No processor has taken a payment.</p>` : payments.map(each => takenSection(page, elicitationId, each, payments.length > 1))}`,
  });
}

function takenFacts(of: TakenPayment): Html {
  return facts([
    ['Reference', html`<code class="whole">${of.processorReference}</code>`],
    ['Processor', html`${of.processor}`],
    [
      'Account of the payee',
      of.payeeAccount === undefined ? undefined : html`<code class="whole">${of.payeeAccount}</code>`,
    ],
    ['Mode', of.mode === undefined ? undefined : html`${of.mode}`],
    ['Paid', html`${inCurrencyOf(of, of.minorUnits)}`],
    ['Paid (UTC)', of.paidAt === undefined ? undefined : time(of.paidAt)],
    ['Paid back', html`${inCurrencyOf(of, of.refundedMinorUnits)}`],
    ['Can still be paid back', html`${inCurrencyOf(of, of.refundableMinorUnits)}`],
  ]);
}

function takenSection(page: SignedInPage, elicitationId: string, of: TakenPayment, isOneOfMany: boolean): Html {
  const payment = isOneOfMany ? of.processorReference : undefined;
  const refund =
    page.role === 'operator' && of.refundableMinorUnits > 0
      ? html`<p><a class="button" href="${linkTo(`/payments/${elicitationId}/refund`, { payment })}">Refund…</a></p>`
      : undefined;
  const unexpected = of.completesElicitation
    ? undefined
    : html`<p class="warning">This payment completes no elicitation: it was of another amount, or came after the end.</p>`;
  return html`<section><h2>${inCurrencyOf(of, of.minorUnits)}</h2>${unexpected}${takenFacts(of)}${refund}
${table({
  caption: 'Refunds',
  columns: [
    { name: 'Refund' },
    { name: 'Status' },
    { name: 'Amount', isNumber: true },
    { name: 'By' },
    { name: 'Reference' },
    { name: 'Requested (UTC)' },
  ],
  rows: of.refunds.map(each => [
    code(each.refundId),
    html`${status(each.status)}${each.failure === undefined ? undefined : html` <span class="soft">${each.failure}</span>`}`,
    html`${inCurrencyOf(of, each.minorUnits)}`,
    html`${each.requestedBy}`,
    optional(each.processorReference),
    time(each.createdAt),
  ]),
  empty: 'No refunds.',
})}
${table({
  caption: 'Disputes at the bank of the person',
  columns: [{ name: 'Dispute' }, { name: 'Status' }, { name: 'Amount', isNumber: true }, { name: 'Since (UTC)' }],
  rows: of.disputes.map(each => [
    code(each.processorReference),
    status(each.status),
    html`${amountText(each)}`,
    time(each.createdAt),
  ]),
  empty: 'No disputes.',
})}</section>`;
}

/** Says what a refund would do, or asks for the amount. */
export function refundView(p: {
  readonly elicitationId: string;
  readonly payment: TakenPayment;
  /** Whether the elicitation has other payments. */
  readonly isOneOfMany: boolean;
  /** As typed. */
  readonly amount: string | undefined;
  /** Absent without an amount that can be read. */
  readonly plan?: RefundPlan | undefined;
  /** The payment has changed since the page that the operator confirmed. */
  readonly isOutdated?: boolean;
}): ActView {
  const { elicitationId, payment, amount, plan } = p;
  const all = plainAmount({ currency: payment.currency, minorUnits: payment.refundableMinorUnits }) ?? '';
  const named = p.isOneOfMany
    ? html`<input type="hidden" name="payment" value="${payment.processorReference}">`
    : undefined;
  const form = html`<form class="filters" method="get" action="${ownPath(`/payments/${elicitationId}/refund`)}">${named}<label><span>${`Amount in ${payment.currency}, such as ${all}`}</span><input type="text" name="amount" value="${amount ?? all}" inputmode="decimal" pattern="[0-9.]{1,20}" required></label><button>Show what it does</button></form>`;
  const outdated =
    p.isOutdated === true
      ? html`<p class="warning">Nothing was paid back: the payment has changed since you opened the page.</p>`
      : undefined;
  const says = (text: Html | undefined) => html`${takenFacts(payment)}${outdated}${form}${text}`;
  const view = { title: 'Refund a payment', at: '/payments' as const };
  const refused = (text: string) => html`<p class="warning">${text}</p>`;
  // There is no amount to choose.
  if (payment.refundableMinorUnits === 0)
    return {
      ...view,
      says: html`${takenFacts(payment)}${outdated}${refused(refusalText('refund_exceeds_payment', payment))}`,
    };
  if (amount === undefined) return { ...view, says: says(html`<p>Choose an amount to see what the refund does.</p>`) };
  if (plan === undefined)
    return {
      ...view,
      says: says(
        html`<p class="warning">An amount in ${payment.currency} has digits${all.includes('.') ? ', a full stop and all decimals' : ' only'}, such as ${all}.</p>`,
      ),
    };
  if (plan.refusal !== undefined) return { ...view, says: says(refused(refusalText(plan.refusal, payment))) };
  return {
    ...view,
    says: says(
      html`<p>This pays back <b>${inCurrencyOf(payment, plan.minorUnits)}</b> of one payment of one person, through ${payment.processor}. ${inCurrencyOf(payment, plan.leftMinorUnits)} can be paid back afterwards. <b>${plan.mcpServerId}</b> is notified once the processor has made it. This cannot be undone.</p>`,
    ),
    button: `Pay back ${inCurrencyOf(payment, plan.minorUnits)}`,
    confirms: { plan: plan.plan },
  };
}

/** Without a payment there is nothing to pay back; of several payments, one must be chosen. */
export function chooseRefundView({ elicitationId, payments }: PaymentDetail): ActView {
  const says =
    payments.length === 0
      ? html`<p class="empty">No processor has taken a payment.</p>`
      : html`<p>Choose one payment of this elicitation:</p><ul>${payments.map(
          of =>
            html`<li><a href="${linkTo(`/payments/${elicitationId}/refund`, { payment: of.processorReference })}">${of.processorReference}</a>: ${inCurrencyOf(of, of.minorUnits)}</li>`,
        )}</ul>`;
  return { title: 'Refund a payment', at: '/payments', says };
}
