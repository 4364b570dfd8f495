import {
  type CheckOf,
  type CountedPayment,
  DAILY_LIMIT_MS,
  type DueCheck,
  type Elicitation,
  type ElicitationId,
  FIRST_REFUND_CHECK_MS,
  isAwaitingRefund,
  LISTED_PAYMENTS,
  type PaidBy,
  type Payment,
  type PaymentChange,
  type PaymentFacts,
  type PaymentNote,
  type PaymentStore,
  paymentEventOf,
  type Shard,
  shardIn,
  voucherOf,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { keyOf, listOf, Records } from './records.ts';
import type { SqliteEventOutbox } from './sqlite-events.ts';

type CountedOf = Parameters<PaymentStore['counted']>[0];
const countedKey = ({ subject, mcpServerId, currency }: CountedOf) => keyOf(subject, mcpServerId, currency);
const paidByKey = ({ subject, voucher }: PaidBy) => keyOf(subject, voucher);

/** Notes and payments by the processor's reference, which may be any text. */
interface Row {
  readonly elicitationId: ElicitationId;
  readonly notes: readonly (readonly [string, PaymentNote])[];
  readonly payments: readonly Payment[];
  readonly version: number;
  readonly endsAt: number;
  /** The list of the user's payments, and the time of the one that completed the elicitation. */
  readonly paid?: { readonly by: string; readonly at: number };
}

export interface SqlitePaymentStoreDeps {
  readonly database: Database;
  readonly retentionMs: number;
  readonly outbox: SqliteEventOutbox;
}

export class SqlitePaymentStore implements PaymentStore {
  readonly #deps: SqlitePaymentStoreDeps;
  readonly #rows: Records<Row>;
  readonly #checks: Records<DueCheck & { readonly at: number }>;
  readonly #counted: Records<CountedPayment & { readonly whose: string }>;

  constructor(deps: SqlitePaymentStoreDeps) {
    const { database } = deps;
    this.#deps = deps;
    this.#rows = new Records(database, 'payments', ({ paid, endsAt }) => ({ endsAt, whose: paid?.by, rank: paid?.at }));
    this.#checks = new Records(database, 'payment check', ({ of, elicitationId, at }) => ({
      list: listOf(`check ${of}`, shardIn(elicitationId)),
      rank: at,
    }));
    this.#counted = new Records(database, 'counted payment', ({ whose, minorUnits, approvedAt }) => ({
      whose,
      rank: minorUnits,
      endsAt: approvedAt + DAILY_LIMIT_MS,
    }));
  }

  /** Called within the commit that completes the elicitation. */
  putCompleting(elicitation: Elicitation, facts: PaymentFacts): void {
    const { elicitationId, subject } = elicitation;
    const { processorReference } = facts;
    const row = this.#row(elicitationId);
    const paidAt = this.#deps.database.now();
    this.#put({
      ...row,
      notes: withNote(row, processorReference, 'counted'),
      payments: withPayment(row, { ...facts, elicitationId, version: 0, paidAt, refunds: [], disputes: [] }),
      version: row.version + 1,
      paid: { by: paidByKey({ subject, voucher: voucherOf(elicitation) }), at: paidAt },
    });
  }

  async list(elicitationId: ElicitationId): Promise<readonly Payment[]> {
    return this.#list(elicitationId);
  }

  async listPaid({ skip, limit, ...by }: Parameters<PaymentStore['listPaid']>[0]): Promise<readonly ElicitationId[]> {
    const most = Math.max(0, Math.min(limit, LISTED_PAYMENTS - skip));
    return this.#rows.newestOf(paidByKey(by), { skip, limit: most }).map(({ elicitationId }) => elicitationId);
  }

  async forgetPaid(by: PaidBy): Promise<void> {
    this.#deps.database.commit(() => {
      for (const { paid: _, ...row } of this.#rows.of(paidByKey(by))) this.#rows.put(row.elicitationId, row);
    });
  }

  async put({
    payment,
    announces,
    checkAfterMs = FIRST_REFUND_CHECK_MS,
  }: PaymentChange): Promise<'committed' | 'conflict'> {
    const { elicitationId, processorReference, version } = payment;
    return this.#deps.database.commit(() => {
      const now = this.#deps.database.now();
      const row = this.#row(elicitationId);
      const isAdded = payment.paidAt === 0;
      const isKnown = row.payments.some(known => known.processorReference === processorReference);
      if (row.version !== version || (isAdded && isKnown)) return 'conflict';
      const payments = withPayment(row, { ...payment, ...(isAdded && { paidAt: now }) });
      this.#put({ ...row, payments, version: row.version + 1 });
      if (isAwaitingRefund(payment)) {
        const earlier = this.#checks.get(checkId(elicitationId, 'refunds'))?.at ?? Infinity;
        this.#check(elicitationId, 'refunds', Math.min(earlier, now + checkAfterMs));
      } else this.#dropCheck(elicitationId, 'refunds');
      if (announces !== undefined)
        this.#deps.outbox.append(paymentEventOf(payment, { type: announces, version: row.version + 1 }), {});
      return 'committed';
    });
  }

  /**
   * Called within the commit of an approval.
   * @returns the sum of the other payments if this one exceeds the limit; nothing is changed then
   */
  count(of: CountedOf, payment: Omit<CountedPayment, 'approvedAt'>, within: number): number | undefined {
    const whose = countedKey(of);
    const id = countedId(of, payment.elicitationId);
    const spent = this.#counted.sumOf(whose).total - (this.#counted.get(id)?.minorUnits ?? 0);
    if (spent + payment.minorUnits > within) return spent;
    this.#counted.put(id, { ...payment, whose, approvedAt: this.#deps.database.now() });
    return undefined;
  }

  /** Called within the commit that ends the payment unpaid. */
  release(of: CountedOf, released: ElicitationId): void {
    this.#counted.delete(countedId(of, released));
  }

  async counted(of: CountedOf): Promise<readonly CountedPayment[]> {
    return this.#counted.of(countedKey(of)).map(({ whose: _, ...payment }) => payment);
  }

  async read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined> {
    return noteOf(this.#row(elicitationId), processorReference);
  }

  async recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    this.#deps.database.commit(() => {
      const row = this.#row(elicitationId);
      const note = noteOf(row, processorReference) ?? 'reported';
      this.#put({ ...row, notes: withNote(row, processorReference, note) });
    });
  }

  async checkLater(elicitationId: ElicitationId, of: CheckOf, delayMs: number): Promise<void> {
    this.#deps.database.commit(() => this.#check(elicitationId, of, this.#deps.database.now() + delayMs));
  }

  async dueChecks(shard: Shard, limit: number, withinMs = 0): Promise<readonly DueCheck[]> {
    const upTo = this.#deps.database.now() + withinMs;
    const dueOf = (of: CheckOf) => this.#checks.due(listOf(`check ${of}`, shard), limit, upTo);
    return [...dueOf('charge'), ...dueOf('refunds')].map(({ elicitationId, of }) => ({ elicitationId, of }));
  }

  async dropCheck(elicitationId: ElicitationId, of: CheckOf): Promise<void> {
    this.#deps.database.commit(() => this.#dropCheck(elicitationId, of));
  }

  #list(elicitationId: ElicitationId): readonly Payment[] {
    const { payments, version } = this.#row(elicitationId);
    return payments.map(payment => ({ ...payment, version }));
  }

  #check(elicitationId: ElicitationId, of: CheckOf, at: number): void {
    this.#checks.put(checkId(elicitationId, of), { elicitationId, of, at });
  }

  #dropCheck(elicitationId: ElicitationId, of: CheckOf): void {
    if (of === 'charge' || !this.#list(elicitationId).some(isAwaitingRefund))
      this.#checks.delete(checkId(elicitationId, of));
  }

  #row(elicitationId: ElicitationId): Row {
    return this.#rows.get(elicitationId) ?? { elicitationId, notes: [], payments: [], version: 0, endsAt: 0 };
  }

  #put(row: Row): void {
    const { database, retentionMs } = this.#deps;
    this.#rows.put(row.elicitationId, { ...row, endsAt: database.now() + retentionMs });
  }
}

const checkId = (elicitationId: ElicitationId, of: CheckOf) => `${of} ${elicitationId}`;
const countedId = (of: CountedOf, elicitationId: ElicitationId) => `${elicitationId} ${countedKey(of)}`;

const noteOf = ({ notes }: Row, processorReference: string) => new Map(notes).get(processorReference);
const withNote = ({ notes }: Row, processorReference: string, note: PaymentNote) => [
  ...new Map(notes).set(processorReference, note),
];
const withPayment = ({ payments }: Row, payment: Payment) => [
  ...new Map(payments.map(each => [each.processorReference, each])).set(payment.processorReference, payment).values(),
];
