import type { Clock, ElicitationId, PaymentNote, PaymentStore } from '@postern/elicitation';

export class MemoryPaymentStore implements PaymentStore {
  readonly #now: Clock;
  readonly #retentionMs: number;
  readonly #notes = new Map<ElicitationId, { readonly notes: Map<string, PaymentNote>; keepUntil: number }>();

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
