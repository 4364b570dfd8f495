import type { ElicitationId, PaymentNote, PaymentStore } from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, textOf } from './reply.ts';

/** Payments in the shard of their subject, where the commit that completes the elicitation writes them. */
export class RedisPaymentStore implements PaymentStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;
  readonly #retentionMs: number;

  constructor(link: RedisLink, keys: Keys, retentionMs: number) {
    this.#link = link;
    this.#keys = keys;
    this.#retentionMs = retentionMs;
  }

  async read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined> {
    const found = await this.#link.call('hget', this.#keys.payments(elicitationId), processorReference);
    if (isAbsent(found)) return undefined;
    // What another release wrote there is a note all the same: somebody has dealt with the payment.
    return textOf(found) === 'counted' ? 'counted' : 'reported';
  }

  async noteReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    const key = this.#keys.payments(elicitationId);
    await this.#link.run('notePayment', [key], [processorReference, this.#retentionMs], { repeatable: true });
  }
}
