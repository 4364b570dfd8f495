import {
  type Clock,
  type CountedPayment,
  DAILY_LIMIT_MS,
  type ElicitationId,
  type PaymentNote,
  type PaymentStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';

type CountedOf = Parameters<PaymentStore['counted']>[0];
const keyOf = ({ subject, mcpServerId, currency }: CountedOf) =>
  JSON.stringify([subject.issuer, subject.subject, mcpServerId, currency]);

export class MemoryPaymentStore implements PaymentStore {
  readonly #now: Clock;
  readonly #retentionMs: number;
  readonly #notes = new Map<ElicitationId, { readonly notes: Map<string, PaymentNote>; keepUntil: number }>();

  readonly #checks = new Map<ElicitationId, number>();
  readonly #counted = new Map<string, readonly CountedPayment[]>();

  constructor(now: Clock, retentionMs: number) {
    this.#now = now;
    this.#retentionMs = retentionMs;
  }

  /** Called within the commit that completes the elicitation. */
  putCounted(elicitationId: ElicitationId, processorReference: string): void {
    this.#written(elicitationId).set(processorReference, 'counted');
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
    return this.#kept(elicitationId)?.get(processorReference);
  }

  async recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    const notes = this.#written(elicitationId);
    if (!notes.has(processorReference)) notes.set(processorReference, 'reported');
  }

  async checkLater(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    this.#checks.set(elicitationId, this.#now() + delayMs);
  }

  async dueChecks(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    return [...this.#checks]
      .filter(([elicitationId, at]) => shardIn(elicitationId) === shard && at <= this.#now())
      .sort(([, a], [, b]) => a - b)
      .slice(0, limit)
      .map(([elicitationId]) => elicitationId);
  }

  async dropCheck(elicitationId: ElicitationId): Promise<void> {
    this.#checks.delete(elicitationId);
  }

  #countedOf(of: CountedOf): readonly CountedPayment[] {
    const counted = this.#counted.get(keyOf(of)) ?? [];
    return counted.filter(({ approvedAt }) => approvedAt + DAILY_LIMIT_MS > this.#now());
  }

  #kept(elicitationId: ElicitationId): Map<string, PaymentNote> | undefined {
    const row = this.#notes.get(elicitationId);
    return row && row.keepUntil > this.#now() ? row.notes : undefined;
  }

  #written(elicitationId: ElicitationId): Map<string, PaymentNote> {
    const notes = this.#kept(elicitationId) ?? new Map<string, PaymentNote>();
    this.#notes.set(elicitationId, { notes, keepUntil: this.#now() + this.#retentionMs });
    return notes;
  }
}
