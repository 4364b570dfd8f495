import { type ElicitationId, parseElicitationId } from '@postern/elicitation';
import { type Html, html, ownPath } from '@postern/pages/html';
import { z } from 'zod';
import { refusalText } from '../../admin/refunds.ts';
import { ProblemError } from '../../platform/http/problems.ts';
import type { SignedInPage } from '../pages/layout.ts';
import { buttonTo, code, facts, link, status, table, time, whole } from '../pages/parts.ts';
import {
  type Asking,
  act,
  type ConsoleRoute,
  details,
  field,
  filter,
  list,
  noMatch,
  PAGE,
  type Plan,
  type Returned,
} from '../section.ts';
import { elicitationValues } from '../shown-records.ts';
import { amountText, plainAmount, typedAmount } from './amounts.ts';

type PaymentDetail = Returned<'payment'>;
type TakenPayment = PaymentDetail['payments'][number];

const inCurrencyOf = ({ currency }: TakenPayment, minorUnits: number) => amountText({ currency, minorUnits });
const joined = (texts: readonly string[]) => (texts.length === 0 ? undefined : texts.join(', '));

/** What was paid back of each payment, pending refunds apart. */
const paidBack = (payments: readonly TakenPayment[]) =>
  joined(
    payments.flatMap(of => {
      const pending = of.refunds
        .filter(each => each.status === 'pending')
        .reduce((sum, each) => sum + each.minorUnits, 0);
      return [
        ...(of.refundedMinorUnits === 0 ? [] : [inCurrencyOf(of, of.refundedMinorUnits)]),
        ...(pending === 0 ? [] : [`${inCurrencyOf(of, pending)} pending`]),
      ];
    }),
  );

/** Whether a replica of the gateway is about to ask the processor for a refund. */
const isUnderWay = ({ payments }: PaymentDetail): boolean =>
  payments.some(({ refunds }) =>
    refunds.some(each => each.status === 'pending' && each.processorReference === undefined),
  );

const text = z
  .string()
  .max(200)
  .transform(given => (given === '' ? undefined : given))
  .optional();

const refundValues = z.strictObject({
  elicitationId: z.string().transform(parseElicitationId),
  /** As typed. */
  amount: text,
  /** The processor's reference of the payment. */
  payment: text,
  /** Of the page that the operator confirms. */
  plan: text,
});
type RefundValues = z.infer<typeof refundValues>;

/** While a refund is not at its processor yet. */
const LIVE_SECONDS = 2;

export const payments: readonly ConsoleRoute[] = [
  list({
    at: '/payments',
    query: z.object({ phase: z.enum(['open', 'ended']).default('ended'), mcpServer: field.name, cursor: field.cursor }),
    filters: [{ name: 'phase', label: 'Phase', choices: () => ['ended', 'open'] }, filter.mcpServer],
    read: ({ admin, actor }, { mcpServer, cursor, phase }) =>
      admin.payments(actor, { mcpServerId: mcpServer, cursor, phase, limit: PAGE }),
    caption: 'Payments, newest first',
    columns: () => [
      { name: 'Payment of elicitation', cell: of => link(`/payments/${of.elicitationId}`, code(of.elicitationId)) },
      { name: 'Status', cell: of => status(of.status) },
      { name: 'Amount', isNumber: true, cell: amountText },
      { name: 'Paid back', isNumber: true, cell: of => paidBack(of.payments) },
      {
        name: 'Disputes',
        cell: of => joined(of.payments.flatMap(({ disputes }) => disputes.map(dispute => dispute.status))),
      },
      { name: 'Mode', cell: of => of.mode },
      { name: 'Payee', cell: of => of.payee },
      { name: 'MCP server', cell: of => of.mcpServerId },
      { name: 'Processor', cell: of => of.processor },
      { name: 'Reference', cell: of => code(of.processorReference) },
      { name: 'Approved (UTC)', cell: of => time(of.approvedAt) },
    ],
    empty: noMatch('Nothing'),
  }),

  details({
    path: '/payments/:elicitationId',
    at: '/payments',
    values: elicitationValues,
    read: async ({ admin }, { elicitationId }) => elicitationId && admin.payment(elicitationId),
    title: ({ elicitationId }) => `Payment ${elicitationId.slice(0, 12)}…`,
    live: of => ({ seconds: isUnderWay(of) ? LIVE_SECONDS : 0, reloads: true }),
    main: (of, page) => html`${facts([
      [
        'Elicitation',
        page.role !== 'viewer' && of.status !== undefined
          ? link(`/elicitations/${of.elicitationId}`, whole(of.elicitationId))
          : whole(of.elicitationId),
      ],
      ['Status', of.status && status(of.status)],
      ['MCP server', of.mcpServerId],
      ['Person (pseudonym)', whole(of.subject)],
      ['Payee', of.payee],
      ['Requested', of.requested && html`${amountText(of.requested)} through ${of.requested.processor}`],
    ])}
${of.payments.length === 0 ? html`<p class="empty">No processor has taken a payment.</p>` : of.payments.map(each => takenSection(page, of, each))}`,
  }),

  // The amount is in the query of the page, so the page says what exactly it will do.
  act({
    path: '/payments/:elicitationId/refund',
    at: '/payments',
    title: 'Refund a payment',
    values: refundValues,
    plan: ({ admin }, values) => refundPlan(admin, values),
    async perform({ admin, actor }, values) {
      const { elicitationId, payment } = (await found(admin, values)) ?? {};
      const minorUnits = payment && values.amount && typedAmount(values.amount, payment.currency);
      // Only a page that has said what it will do has both.
      if (elicitationId === undefined || payment === undefined || !minorUnits || values.plan === undefined)
        return refundPlan(admin, values);
      const { processorReference } = payment;
      try {
        await admin.startRefund(actor, elicitationId, { minorUnits, processorReference, plan: values.plan });
      } catch (error) {
        if (error instanceof ProblemError && error.code === 'payment_changed') return refundPlan(admin, values, true);
        const plan = await refundPlan(admin, values);
        // The page says why the refund is not possible now.
        if (plan?.button === undefined) return plan;
        throw error;
      }
      return `/payments/${elicitationId}`;
    },
  }),
];

function takenFacts(of: TakenPayment): Html {
  return facts([
    ['Reference', whole(of.processorReference)],
    ['Processor', of.processor],
    ['Account of the payee', whole(of.payeeAccount)],
    ['Mode', of.mode],
    ['Paid', inCurrencyOf(of, of.minorUnits)],
    ['Paid (UTC)', time(of.paidAt)],
    ['Paid back', inCurrencyOf(of, of.refundedMinorUnits)],
    ['Can still be paid back', inCurrencyOf(of, of.refundableMinorUnits)],
  ]);
}

function takenSection({ role }: SignedInPage, { elicitationId, payments }: PaymentDetail, of: TakenPayment): Html {
  const payment = payments.length > 1 ? of.processorReference : undefined;
  const refund =
    role === 'operator' && of.refundableMinorUnits > 0
      ? buttonTo(`/payments/${elicitationId}/refund`, 'Refund…', { payment })
      : undefined;
  const unexpected = of.completesElicitation
    ? undefined
    : html`<p class="warning">This payment completes no elicitation: it was of another amount, or came after the end.</p>`;
  return html`<section><h2>${inCurrencyOf(of, of.minorUnits)}</h2>${unexpected}${takenFacts(of)}${refund}
${table({
  caption: 'Refunds',
  columns: [
    { name: 'Refund', cell: each => code(each.refundId) },
    { name: 'Status', cell: each => status(each.status, each.failure) },
    { name: 'Amount', isNumber: true, cell: each => inCurrencyOf(of, each.minorUnits) },
    { name: 'By', cell: each => each.requestedBy },
    { name: 'Reference', cell: each => each.processorReference },
    { name: 'Requested (UTC)', cell: each => time(each.createdAt) },
  ],
  items: of.refunds,
  empty: 'No refunds.',
})}
${table({
  caption: 'Disputes at the bank of the person',
  columns: [
    { name: 'Dispute', cell: each => code(each.processorReference) },
    { name: 'Status', cell: each => status(each.status) },
    { name: 'Amount', isNumber: true, cell: amountText },
    { name: 'Since (UTC)', cell: each => time(each.createdAt) },
  ],
  items: of.disputes,
  empty: 'No disputes.',
})}</section>`;
}

/** The elicitation with its payments, and the payment that the values name. Undefined if there is no such elicitation. */
async function found(admin: Asking['admin'], { elicitationId, payment: reference }: RefundValues) {
  const detail = elicitationId && (await admin.payment(elicitationId));
  if (elicitationId === undefined || detail === undefined) return undefined;
  const { payments } = detail;
  const isOnly = reference === undefined && payments.length === 1;
  const payment = isOnly ? payments[0] : payments.find(each => each.processorReference === reference);
  return { elicitationId, payments, payment };
}

/**
 * Says what a refund would do, or asks for the payment and the amount.
 * @param isOutdated the payment has changed since the page that the operator confirmed
 */
async function refundPlan(admin: Asking['admin'], values: RefundValues, isOutdated = false): Promise<Plan | undefined> {
  const of = await found(admin, values);
  if (of === undefined) return undefined;
  const { elicitationId, payments, payment } = of;
  if (payment === undefined) return choice(elicitationId, payments);
  const { currency, processorReference, refundableMinorUnits } = payment;
  const refused = (...of: Parameters<typeof refusalText>) => html`<p class="warning">${refusalText(...of)}</p>`;
  const outdated = html`<p class="warning">Nothing was paid back: the payment has changed since you opened the page.</p>`;
  const standing = html`${takenFacts(payment)}${isOutdated ? outdated : undefined}`;
  // There is no amount to choose.
  if (refundableMinorUnits === 0) return { about: standing, says: refused('refund_exceeds_payment', payment) };
  const { amount } = values;
  const all = plainAmount({ currency, minorUnits: refundableMinorUnits }) ?? '';
  const isOneOfMany = payments.length > 1;
  const named = isOneOfMany ? html`<input type="hidden" name="payment" value="${processorReference}">` : undefined;
  const about = html`${standing}<form class="filters" method="get" action="${ownPath(`/payments/${elicitationId}/refund`)}">${named}<label><span>${`Amount in ${currency}, such as ${all}`}</span><input type="text" name="amount" value="${amount ?? all}" inputmode="decimal" pattern="[0-9.]{1,20}" required></label><button>Show what it does</button></form>`;
  if (amount === undefined) return { about, says: html`<p>Choose an amount to see what the refund does.</p>` };
  const minorUnits = typedAmount(amount, currency);
  const plan =
    minorUnits === undefined ? undefined : await admin.planRefund(elicitationId, { minorUnits, processorReference });
  if (plan === undefined) {
    const digits = all.includes('.') ? ', a full stop and all decimals' : ' only';
    return { about, says: html`<p class="warning">An amount in ${currency} has digits${digits}, such as ${all}.</p>` };
  }
  if (plan.refusal !== undefined) return { about, says: refused(plan.refusal, payment) };
  return {
    about,
    says: html`<p>This pays back <b>${inCurrencyOf(payment, plan.minorUnits)}</b> of one payment of one person, through ${payment.processor}. ${inCurrencyOf(payment, plan.leftMinorUnits)} can be paid back afterwards. <b>${plan.mcpServerId}</b> is notified once the processor has made it. This cannot be undone.</p>`,
    button: `Pay back ${inCurrencyOf(payment, plan.minorUnits)}`,
    confirms: { plan: plan.plan },
  };
}

/** Without a payment there is nothing to pay back; of several payments, one must be chosen. */
function choice(elicitationId: ElicitationId, payments: readonly TakenPayment[]): Plan {
  if (payments.length === 0) return { says: 'No processor has taken a payment.' };
  const of = (each: TakenPayment) => {
    const { processorReference: payment } = each;
    return html`<li>${link(`/payments/${elicitationId}/refund`, payment, { payment })}: ${inCurrencyOf(each, each.minorUnits)}</li>`;
  };
  return { says: html`<p>Choose one payment of this elicitation:</p><ul>${payments.map(of)}</ul>` };
}
