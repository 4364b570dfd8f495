import type { ElicitationId, Shard, Subject } from './ids.ts';
import type { Payment, PaymentChange } from './payment.ts';

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
