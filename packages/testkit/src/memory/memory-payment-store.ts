import {
  type CheckOf,
  type Clock,
  type CountedPayment,
  DAILY_LIMIT_MS,
  type DueCheck,
  type Elicitation,
  type ElicitationEvent,
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

type CountedOf = Parameters<PaymentStore['counted']>[0];
const keyOf = ({ subject, mcpServerId, currency }: CountedOf) =>
  JSON.stringify([subject.issuer, subject.subject, mcpServerId, currency]);

const paidByKey = ({ subject, voucher }: PaidBy) => JSON.stringify([subject.issuer, subject.subject, voucher]);

interface Row {
  readonly notes: Map<string, PaymentNote>;
  readonly payments: Map<string, Payment>;
  version: number;
  keepUntil: number;
}

export class MemoryPaymentStore implements PaymentStore {
  readonly #now: Clock;
  readonly #retentionMs: number;
  readonly #announce: (event: ElicitationEvent) => void;
  readonly #rows = new Map<ElicitationId, Row>();

  readonly #checks = { charge: new Map<ElicitationId, number>(), refunds: new Map<ElicitationId, number>() };
  readonly #paid = new Map<string, readonly ElicitationId[]>();
  readonly #counted = new Map<string, readonly CountedPayment[]>();

  constructor(p: { now: Clock; retentionMs: number; announce: (event: ElicitationEvent) => void }) {
    this.#now = p.now;
    this.#retentionMs = p.retentionMs;
    this.#announce = p.announce;
  }

  /** Called within the commit that completes the elicitation. */
  putCompleting(elicitation: Elicitation, facts: PaymentFacts): void {
    const { elicitationId, subject } = elicitation;
    const by = paidByKey({ subject, voucher: voucherOf(elicitation) });
    this.#paid.set(by, [elicitationId, ...(this.#paid.get(by) ?? [])].slice(0, LISTED_PAYMENTS));
    const row = this.#written(elicitationId);
    row.notes.set(facts.processorReference, 'counted');
    row.version += 1;
    const added = { ...facts, elicitationId, version: 0, paidAt: this.#now(), refunds: [], disputes: [] };
    row.payments.set(facts.processorReference, added);
  }

  async list(elicitationId: ElicitationId): Promise<readonly Payment[]> {
    const row = this.#kept(elicitationId);
    return row === undefined
      ? []
      : [...row.payments.values()].map(payment => structuredClone({ ...payment, version: row.version }));
  }

  async listPaid({ skip, limit, ...by }: Parameters<PaymentStore['listPaid']>[0]): Promise<readonly ElicitationId[]> {
    const listed = (this.#paid.get(paidByKey(by)) ?? []).filter(id => this.#kept(id) !== undefined);
    return listed.slice(skip, skip + limit);
  }

  async forgetPaid(by: PaidBy): Promise<void> {
    this.#paid.delete(paidByKey(by));
  }

  async put({
    payment,
    announces,
    checkAfterMs = FIRST_REFUND_CHECK_MS,
  }: PaymentChange): Promise<'committed' | 'conflict'> {
    const { elicitationId, processorReference, version } = payment;
    const known = this.#kept(elicitationId);
    const isAdded = payment.paidAt === 0;
    if ((known?.version ?? 0) !== version || (isAdded && known?.payments.has(processorReference))) return 'conflict';
    const row = this.#written(elicitationId);
    row.version += 1;
    row.payments.set(processorReference, structuredClone({ ...payment, ...(isAdded && { paidAt: this.#now() }) }));
    const dueAt = this.#checks.refunds.get(elicitationId) ?? Number.POSITIVE_INFINITY;
    if (isAwaitingRefund(payment)) this.#checks.refunds.set(elicitationId, Math.min(dueAt, this.#now() + checkAfterMs));
    else await this.dropCheck(elicitationId, 'refunds');
    if (announces !== undefined) this.#announce(paymentEventOf(payment, { type: announces, version: row.version }));
    return 'committed';
  }

  /**
   * Called within the commit of an approval.
   * @returns the sum of the other payments if this one exceeds the limit; nothing is changed then
   */
  count(of: CountedOf, payment: Omit<CountedPayment, 'approvedAt'>, within: number): number | undefined {
    const others = this.#countedOf(of).filter(({ elicitationId }) => elicitationId !== payment.elicitationId);
    const spent = others.reduce((sum, { minorUnits }) => sum + minorUnits, 0);
    if (spent + payment.minorUnits > within) return spent;
    this.#counted.set(keyOf(of), [...others, { ...payment, approvedAt: this.#now() }]);
    return undefined;
  }

  /** Called within the commit that ends the payment unpaid. */
  release(of: CountedOf, released: ElicitationId): void {
    this.#counted.set(
      keyOf(of),
      this.#countedOf(of).filter(({ elicitationId }) => elicitationId !== released),
    );
  }

  async counted(of: CountedOf): Promise<readonly CountedPayment[]> {
    return this.#countedOf(of);
  }

  async read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined> {
    return this.#kept(elicitationId)?.notes.get(processorReference);
  }

  async recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    const { notes } = this.#written(elicitationId);
    if (!notes.has(processorReference)) notes.set(processorReference, 'reported');
  }

  async checkLater(elicitationId: ElicitationId, of: CheckOf, delayMs: number): Promise<void> {
    this.#checks[of].set(elicitationId, this.#now() + delayMs);
  }

  async dueChecks(shard: Shard, limit: number): Promise<readonly DueCheck[]> {
    const dueOf = (of: CheckOf) =>
      [...this.#checks[of]]
        .filter(([elicitationId, at]) => shardIn(elicitationId) === shard && at <= this.#now())
        .sort(([, a], [, b]) => a - b)
        .slice(0, limit)
        .map(([elicitationId]) => ({ elicitationId, of }));
    return [...dueOf('charge'), ...dueOf('refunds')];
  }

  async dropCheck(elicitationId: ElicitationId, of: CheckOf): Promise<void> {
    const payments = await this.list(elicitationId);
    if (of === 'charge' || !payments.some(isAwaitingRefund)) this.#checks[of].delete(elicitationId);
  }

  #countedOf(of: CountedOf): readonly CountedPayment[] {
    const counted = this.#counted.get(keyOf(of)) ?? [];
    return counted.filter(({ approvedAt }) => approvedAt + DAILY_LIMIT_MS > this.#now());
  }

  #kept(elicitationId: ElicitationId): Row | undefined {
    const row = this.#rows.get(elicitationId);
    return row && row.keepUntil > this.#now() ? row : undefined;
  }

  #written(elicitationId: ElicitationId): Row {
    const row = this.#kept(elicitationId) ?? { notes: new Map(), payments: new Map(), version: 0, keepUntil: 0 };
    row.keepUntil = this.#now() + this.#retentionMs;
    this.#rows.set(elicitationId, row);
    return row;
  }
}
