import type { ElicitationId, Shard } from './ids.ts';
import type { Subject } from './subject.ts';

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
  /** Schedules a status check: `dueChecks` returns the payment after this delay. */
  checkLater(elicitationId: ElicitationId, delayMs: number): Promise<void>;
  /** Payments of a shard whose status check is due, oldest first. They stay due until rescheduled or dropped. */
  dueChecks(shard: Shard, limit: number): Promise<readonly ElicitationId[]>;
  /** Cancels the status check. */
  dropCheck(elicitationId: ElicitationId): Promise<void>;
}

export type PaymentNote = 'counted' | 'reported';

export interface CountedPayment {
  readonly elicitationId: ElicitationId;
  /** Epoch milliseconds. */
  readonly approvedAt: number;
  readonly minorUnits: number;
}
