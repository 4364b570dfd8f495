import type { Amount, PaymentMode } from './elicitation.ts';
import { DomainError } from './errors.ts';
import { digestOf, type ElicitationId, type Shard, type Subject } from './ids.ts';

/** `pending`: reserved here or under way at the processor; it may still fail. */
export const refundStatuses = ['pending', 'succeeded', 'failed'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

/**
 * `processor`: somebody made it at the processor, for example in its dashboard. `gateway`: the payment was unexpected. `operator`: an
 * operator made it through the gateway.
 */
export const refundOrigins = ['mcp_server', 'processor', 'gateway', 'operator'] as const;

export interface Refund {
  /** Name of the refund, here and in the metadata at the processor. */
  readonly refundId: string;
  readonly minorUnits: number;
  readonly status: RefundStatus;
  readonly requestedBy: (typeof refundOrigins)[number];
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** As given by the MCP server. */
  readonly reason?: string;
  /** Digest of the request, to recognize another request under the same key. */
  readonly fingerprint?: string;
  /** The processor's reference. Absent while it is unknown whether the processor has the refund. */
  readonly processorReference?: string;
  /** The processor's code of a failed refund, if it names one. */
  readonly failure?: string;
}

/** `inquiry`: the bank asks, and has taken nothing back. `open`: the bank has taken the amount back until a decision. */
export const disputeStatuses = ['inquiry', 'open', 'won', 'lost'] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

export interface Dispute {
  /** The processor's reference. */
  readonly processorReference: string;
  /** Of the amount that the bank claims, which may differ from that of the payment. */
  readonly currency: string;
  readonly minorUnits: number;
  /** `won` and `lost` from the view of the payee. */
  readonly status: DisputeStatus;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The facts of a payment that never change. */
export interface PaymentFacts {
  readonly mcpServerId: string;
  readonly processor: string;
  /** The processor's reference of the payment. */
  readonly processorReference: string;
  /** The paid amount. */
  readonly amount: Amount;
  readonly mode?: PaymentMode;
  /** The payee's account at the processor. Absent if the configured account of the processor took the money. */
  readonly payeeAccount?: string;
  /** Whether it completed its elicitation. Any other payment is unexpected: of another amount, or made after the end. */
  readonly completes: boolean;
}

/** A payment that a processor has taken. Its record outlives its elicitation. */
export interface Payment extends PaymentFacts {
  readonly elicitationId: ElicitationId;
  /** Number of commits to the payments of this elicitation; 0 if nothing is stored. */
  readonly version: number;
  /** Time of the commit that recorded it, epoch milliseconds; 0 if nothing is stored. */
  readonly paidAt: number;
  readonly refunds: readonly Refund[];
  readonly disputes: readonly Dispute[];
}

export const paymentEventTypes = ['payment.refunded', 'payment.refund_failed', 'payment.disputed'] as const;
export type PaymentEventType = (typeof paymentEventTypes)[number];

/** A decided change of a payment, and the event that announces it. */
export interface PaymentChange {
  readonly payment: Payment;
  readonly announces?: PaymentEventType;
  /** Delay of the first check of a pending refund, in milliseconds. Default: long enough for the caller to ask the processor. */
  readonly checkAfterMs?: number;
}

/** Maximum number of refunds of a payment that MCP servers request, and of those that operators request. */
const MAX_REFUNDS = 20;

/**
 * Returns the id of a refund. The same key of the same payment always has the same id. Keys of an MCP server and keys of the gateway have
 * different ids, so an MCP server can name no refund of the gateway.
 */
export function refundIdOf(
  { elicitationId, processorReference }: Pick<Payment, 'elicitationId' | 'processorReference'>,
  by: Exclude<Refund['requestedBy'], 'operator'>,
  key: string,
): string {
  const named = ['refund', elicitationId, processorReference, ...(by === 'mcp_server' ? [] : [by]), key];
  return `rf_${digestOf(JSON.stringify(named))}`;
}

const sumOf = (refunds: readonly Refund[]) => refunds.reduce((sum, { minorUnits }) => sum + minorUnits, 0);

/** Returns what has been paid back, in minor units. */
export const refundedOf = ({ refunds }: Pick<Payment, 'refunds'>): number =>
  sumOf(refunds.filter(({ status }) => status === 'succeeded'));

/** Returns what can still be paid back, in minor units. A pending refund counts as paid back. */
export function refundableOf({ amount, refunds }: Pick<Payment, 'amount' | 'refunds'>): number {
  return Math.max(amount.minorUnits - sumOf(refunds.filter(({ status }) => status !== 'failed')), 0);
}

/** Whether all of it has been paid back. A pending refund can still fail. */
export const isPaidBack = ({ amount, refunds }: Pick<Payment, 'amount' | 'refunds'>): boolean =>
  sumOf(refunds.filter(({ status }) => status === 'succeeded')) >= amount.minorUnits;

/** Says why an amount cannot be paid back. @param left what can, in minor units */
export const refundLimitText = (left: number): string =>
  left === 0
    ? 'Everything has been refunded, or is being refunded.'
    : 'The amount is above what can still be paid back.';

/** The refund is above what can still be paid back, here `left` minor units. */
export class RefundLimitError extends DomainError {
  override name = 'RefundLimitError';
  readonly left: number;
  constructor(left: number) {
    super('refund_exceeds_payment', refundLimitText(left));
    this.left = left;
  }
}

/** Whether the processor must still report the end of a refund. */
export const isAwaitingRefund = ({ refunds }: Pick<Payment, 'refunds'>): boolean =>
  refunds.some(({ status }) => status === 'pending');

export interface RefundRequest extends Pick<Refund, 'refundId' | 'requestedBy' | 'createdAt'> {
  /** Default: everything that can still be paid back. */
  readonly minorUnits?: number;
  readonly reason?: string;
  readonly fingerprint: string;
}

/**
 * Decides on a refund. The caller commits a reserved refund against the version of the payment before it asks the processor.
 * @returns `known`: this refund was reserved before
 * @throws DomainError `idempotency_key_reused`, `payment_disputed`, `refund_exceeds_payment`, `too_many_refunds`
 */
export function reserveRefund(
  payment: Payment,
  { minorUnits = refundableOf(payment), ...request }: RefundRequest,
): { readonly result: 'known' | 'reserved'; readonly payment: Payment; readonly refund: Refund } {
  const known = payment.refunds.find(({ refundId }) => refundId === request.refundId);
  if (known !== undefined) {
    if (known.fingerprint !== request.fingerprint)
      throw new DomainError('idempotency_key_reused', 'The key was used for another refund.');
    return { result: 'known', payment, refund: known };
  }
  // The bank has taken the amount back: a refund would pay it twice.
  if (payment.disputes.some(({ status }) => status === 'open' || status === 'lost'))
    throw new DomainError('payment_disputed', 'The payment is disputed.');
  if (!Number.isSafeInteger(minorUnits) || minorUnits < 1 || minorUnits > refundableOf(payment))
    throw new RefundLimitError(refundableOf(payment));
  if (payment.refunds.filter(({ requestedBy }) => requestedBy === request.requestedBy).length >= MAX_REFUNDS)
    throw new DomainError('too_many_refunds', 'The payment has too many refunds.');
  const refund: Refund = { ...request, minorUnits, status: 'pending' };
  return { result: 'reserved', payment: { ...payment, refunds: [...payment.refunds, refund] }, refund };
}

/** The processor's view of a refund. `refundId`: from its metadata, if this gateway made it. */
export interface ReportedRefund extends Pick<Refund, 'minorUnits' | 'status' | 'createdAt' | 'failure'> {
  readonly processorReference: string;
  readonly refundId?: string;
}

/**
 * Returns the first change of a payment according to the processor; undefined if there is none. The caller reads the payment before it asks
 * the processor, and asks again after a conflict: so an older report never replaces a newer one.
 */
export function reportedChange(
  payment: Payment,
  {
    refunds = [],
    disputes = [],
  }: { readonly refunds?: readonly ReportedRefund[]; readonly disputes?: readonly Dispute[] },
): PaymentChange | undefined {
  for (const report of lastOfEach(refunds)) {
    const change = refundChange(payment, report);
    if (change !== undefined) return change;
  }
  for (const report of lastOfEach(disputes)) {
    const known = payment.disputes.find(({ processorReference }) => processorReference === report.processorReference);
    const { status, currency, minorUnits } = report;
    if (known?.status === status && known.currency === currency && known.minorUnits === minorUnits) continue;
    const others = payment.disputes.filter(dispute => dispute !== known);
    return { payment: { ...payment, disputes: [...others, { ...report }] }, announces: 'payment.disputed' };
  }
  return undefined;
}

/** A list that changes between two of its pages can name one refund twice. Two reports must not replace each other for ever. */
const lastOfEach = <T extends { readonly processorReference: string }>(reports: readonly T[]) =>
  new Map(reports.map(report => [report.processorReference, report])).values();

function refundChange(payment: Payment, report: ReportedRefund): PaymentChange | undefined {
  const known = payment.refunds.find(
    ({ refundId, processorReference }) =>
      processorReference === report.processorReference ||
      (processorReference === undefined && refundId === report.refundId),
  );
  const { refundId = refundIdOf(payment, 'processor', report.processorReference), ...rest } = report;
  const next: Refund =
    known === undefined
      ? { ...rest, refundId, requestedBy: 'processor' }
      : {
          ...known,
          // Money that was paid back counts, even if another amount was ordered.
          minorUnits: report.minorUnits,
          status: report.status,
          processorReference: report.processorReference,
          failure: report.failure ?? known.failure,
        };
  const isKnown =
    known?.status === next.status &&
    known.minorUnits === next.minorUnits &&
    known.processorReference === next.processorReference;
  return isKnown ? undefined : refundCommitted(payment, known, next);
}

/** Commits that the processor has refused a reserved refund for good. */
export function refusedRefund(
  payment: Payment,
  refundId: string,
  failure: string | undefined,
): PaymentChange | undefined {
  const known = payment.refunds.find(refund => refund.refundId === refundId);
  if (known?.status !== 'pending' || known.processorReference !== undefined) return undefined;
  return refundCommitted(payment, known, { ...known, status: 'failed', failure: failure ?? known.failure });
}

function refundCommitted(payment: Payment, known: Refund | undefined, next: Refund): PaymentChange {
  const refunds =
    known === undefined
      ? [...payment.refunds, next]
      : payment.refunds.map(refund => (refund === known ? next : refund));
  const type = { pending: undefined, succeeded: 'payment.refunded', failed: 'payment.refund_failed' } as const;
  const announces = next.status === known?.status ? undefined : type[next.status];
  return { payment: { ...payment, refunds }, announces };
}

/** How long an approved payment counts against daily limits, in milliseconds. */
export const DAILY_LIMIT_MS = 24 * 3_600_000;

/**
 * Notes about payments, kept longer than their elicitations because processors repeat webhooks for days. The commit that completes an
 * elicitation with a payment writes `counted`.
 */
export interface PaymentStore {
  /** Undefined if there is no note about the payment. */
  read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined>;
  /** Records that a refund was reported. A payment that is `counted` stays `counted`. */
  recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void>;
  /** Approved payments that count towards daily limits, and some that no longer count, in no particular order. */
  counted(p: {
    readonly subject: Subject;
    readonly mcpServerId: string;
    readonly currency: string;
  }): Promise<readonly CountedPayment[]>;
  /**
   * Payments of an elicitation that processors have taken, in no particular order. The commit that completes an elicitation with a
   * payment adds it.
   * @throws DomainError `unknown_record_layout`
   */
  list(elicitationId: ElicitationId): Promise<readonly Payment[]>;
  /**
   * A page of the elicitations that a user completed with a payment, newest first, until the retention of payments: at most the newest
   * {@link LISTED_PAYMENTS}.
   * @param voucher as for `ElicitationStore.listEnded`
   */
  listPaid(p: PaidBy & { readonly skip: number; readonly limit: number }): Promise<readonly ElicitationId[]>;
  /** Forgets who made the payments of this list. The payments stay. */
  forgetPaid(p: PaidBy): Promise<void>;
  /**
   * Commits a change decided on the version that the payment names, with its event, and schedules a check while a refund is pending,
   * unless an earlier one is due. `conflict`: another change was committed first, and nothing is changed. A payment of version 0 is
   * added.
   */
  put(change: PaymentChange): Promise<'committed' | 'conflict'>;
  /** Schedules a status check: `dueChecks` returns the payment after this delay. */
  checkLater(elicitationId: ElicitationId, of: CheckOf, delayMs: number): Promise<void>;
  /** Payments of a shard whose check is due, oldest first. They stay due until rescheduled or dropped. */
  /** @param withinMs also returns what is due later, within this time */
  dueChecks(shard: Shard, limit: number, withinMs?: number): Promise<readonly DueCheck[]>;
  /** Cancels the check, unless it is about refunds and one of the elicitation is pending. */
  dropCheck(elicitationId: ElicitationId, of: CheckOf): Promise<void>;
}

/** Maximum number of payments that are listed for a user. */
export const LISTED_PAYMENTS = 1000;

export interface PaidBy {
  readonly subject: Subject;
  readonly voucher?: string | undefined;
}

/** The status of the charge, or of the refunds of its payment. */
export type CheckOf = 'charge' | 'refunds';

export interface DueCheck {
  readonly elicitationId: ElicitationId;
  readonly of: CheckOf;
}

/** Delay after which the refunds of a changed payment are first checked, in milliseconds. */
export const FIRST_REFUND_CHECK_MS = 30_000;

export type PaymentNote = 'counted' | 'reported';

export interface CountedPayment {
  readonly elicitationId: ElicitationId;
  /** Epoch milliseconds. */
  readonly approvedAt: number;
  readonly minorUnits: number;
}
