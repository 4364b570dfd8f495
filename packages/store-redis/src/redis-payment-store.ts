import {
  type CountedPayment,
  type ElicitationId,
  type PaymentNote,
  type PaymentStore,
  parseElicitationId,
  type Shard,
  shardIn,
  shardOf,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, textOf } from './reply.ts';

/** Payments, in the shard of their subject. The commit that completes the elicitation writes them. */
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
    // A note in the format of another release still means that the payment has been handled.
    return textOf(found) === 'counted' ? 'counted' : 'reported';
  }

  async recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    const key = this.#keys.payments(elicitationId);
    await this.#link.run('notePayment', [key], [processorReference, this.#retentionMs], { repeatable: true });
  }

  async counted(p: Parameters<PaymentStore['counted']>[0]): Promise<readonly CountedPayment[]> {
    const key = this.#keys.countedPayments(shardOf(p.subject), p);
    return fieldsOf(await this.#link.call('hgetall', key)).map(([id, value]) => {
      const [approvedAt, minorUnits] = textOf(value).split(' ').map(Number);
      if (approvedAt === undefined || minorUnits === undefined) throw new TypeError('Not a counted payment.');
      return { elicitationId: idOf(id), approvedAt, minorUnits };
    });
  }

  async checkLater(elicitationId: ElicitationId, delayMs: number): Promise<void> {
    const key = this.#keys.chargeChecks(shardIn(elicitationId));
    await this.#link.run('checkCharge', [key], [this.#link.clock(), elicitationId, delayMs], { repeatable: true });
  }

  async dueChecks(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const key = this.#keys.chargeChecks(shard);
    return listOf(await this.#link.run('dueCharges', [key], [this.#link.clock(), limit])).map(idOf);
  }

  async dropCheck(elicitationId: ElicitationId): Promise<void> {
    await this.#link.call('zrem', this.#keys.chargeChecks(shardIn(elicitationId)), elicitationId);
  }
}

function idOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}
