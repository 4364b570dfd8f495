import {
  type Clock,
  type ElicitationId,
  type PaymentNote,
  type PaymentStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';

export class MemoryPaymentStore implements PaymentStore {
  readonly #now: Clock;
  readonly #retentionMs: number;
  readonly #notes = new Map<ElicitationId, { readonly notes: Map<string, PaymentNote>; keepUntil: number }>();

  readonly #checks = new Map<ElicitationId, number>();

  constructor(now: Clock, retentionMs: number) {
    this.#now = now;
    this.#retentionMs = retentionMs;
  }

  /** In the commit that completes the elicitation. */
  putCounted(elicitationId: ElicitationId, processorReference: string): void {
    this.#written(elicitationId).set(processorReference, 'counted');
  }

  async read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined> {
    return this.#kept(elicitationId)?.get(processorReference);
  }

  async noteReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
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
