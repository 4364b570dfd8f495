import {
  type CheckOf,
  type CountedPayment,
  type DueCheck,
  disputeStatuses,
  type ElicitationId,
  FIRST_REFUND_CHECK_MS,
  isAwaitingRefund,
  PAYMENT_VERSIONS,
  type PaidBy,
  type Payment,
  type PaymentChange,
  type PaymentFacts,
  type PaymentNote,
  type PaymentStore,
  parseElicitationId,
  refundOrigins,
  refundStatuses,
  type Shard,
  shardIn,
  shardOf,
} from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text, time, timed } from './record-layout.ts';
import { type CommittedEvents, type RedisLink, RedisPort } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, numberOf, textOf, unknownResult } from './script.ts';

const minorUnits = z.int();

const refundSchema = z.object({
  refundId: text,
  minorUnits,
  status: z.enum(refundStatuses),
  requestedBy: z.enum(refundOrigins),
  createdAt: time,
  reason: text.optional(),
  fingerprint: text.optional(),
  processorReference: text.optional(),
  failure: text.optional(),
});

const disputeSchema = z.object({
  processorReference: text,
  currency: text,
  minorUnits,
  status: z.enum(disputeStatuses),
  createdAt: time,
});

const paymentSchema = z.object({
  mcpServerId: text,
  processor: text,
  processorReference: text,
  amount: z.object({ currency: text, minorUnits }),
  mode: z.enum(['live', 'test']).optional(),
  payeeAccount: text.optional(),
  completes: z.boolean(),
  refunds: z.array(refundSchema).default([]),
  disputes: z.array(disputeSchema).default([]),
  at: time,
});

export function encodePayment(payment: PaymentFacts & Partial<Pick<Payment, 'refunds' | 'disputes'>>): string {
  const { refunds = [], disputes = [], ...facts } = payment;
  const { mcpServerId, processor, processorReference, amount, mode, payeeAccount, completes } = facts;
  return encode({
    mcpServerId,
    processor,
    processorReference,
    amount,
    mode,
    payeeAccount,
    completes,
    ...(refunds.length > 0 && { refunds }),
    ...(disputes.length > 0 && { disputes }),
  });
}

/** @param stored `<paid at> <record>` @throws DomainError `unknown_record_layout` */
function decodePayment(elicitationId: ElicitationId, version: number, stored: string): Payment {
  const record = stored.slice(stored.indexOf(' ') + 1);
  const { at, ...payment } = decode(paymentSchema, record, fields => ({ ...fields, ...timed(stored, () => ({})) }));
  return { ...payment, elicitationId, version, paidAt: at };
}

export interface PaymentStoreOptions {
  readonly retentionMs: number;
  readonly eventsPerShard: number;
  readonly committed: CommittedEvents;
}

/** Payments, in the shard of their subject. The commit that completes the elicitation adds them. */
export class RedisPaymentStore extends RedisPort implements PaymentStore {
  readonly #options: PaymentStoreOptions;

  constructor(link: RedisLink, keys: Keys, options: PaymentStoreOptions) {
    super(link, keys);
    this.#options = options;
  }

  async read(elicitationId: ElicitationId, processorReference: string): Promise<PaymentNote | undefined> {
    const found = await this.link.call('hget', this.keys.payments(elicitationId), processorReference);
    if (isAbsent(found)) return undefined;
    // A note in the format of another release still means that the payment has been handled.
    return textOf(found) === 'counted' ? 'counted' : 'reported';
  }

  async recordReported(elicitationId: ElicitationId, processorReference: string): Promise<void> {
    await this.repeatable(
      'notePayment',
      { payments: this.keys.payments(elicitationId) },
      { paymentName: processorReference, retentionMs: this.#options.retentionMs },
    );
  }

  async list(elicitationId: ElicitationId): Promise<readonly Payment[]> {
    const found = new Map(fieldsOf(await this.link.call('hgetall', this.keys.payments(elicitationId))));
    const version = found.get(':version');
    if (isAbsent(version)) return [];
    found.delete(':version');
    return [...found]
      .filter(([name]) => name.startsWith(':'))
      .map(([, stored]) => decodePayment(elicitationId, numberOf(version), textOf(stored)));
  }

  async listPaid({ subject, voucher, skip, limit }: Parameters<PaymentStore['listPaid']>[0]) {
    const key = this.keys.paidBy(shardOf(subject), subject, voucher);
    return listOf(await this.link.call('zrange', key, skip, skip + limit - 1, 'REV')).map(idOf);
  }

  async forgetPaid({ subject, voucher }: PaidBy): Promise<void> {
    await this.link.call('del', this.keys.paidBy(shardOf(subject), subject, voucher));
  }

  async put({
    payment,
    announces,
    checkAfterMs = FIRST_REFUND_CHECK_MS,
  }: PaymentChange): Promise<'committed' | 'conflict'> {
    const { elicitationId, version, mcpServerId, paidAt } = payment;
    const shard = shardIn(elicitationId);
    // The repeat of a commit conflicts with it. The caller decides again, and finds the change committed.
    const reply = await this.repeatable(
      'putPayment',
      {
        payments: this.keys.payments(elicitationId),
        refundChecks: this.keys.refundChecks(shard),
        events: this.keys.events(shard),
        ledger: this.keys.ledger(shard, mcpServerId),
      },
      {
        elicitationId,
        paymentName: payment.processorReference,
        version,
        record: encodePayment(payment),
        paidAt: paidAt === 0 ? undefined : paidAt,
        retentionMs: this.#options.retentionMs,
        checkAfterMs: isAwaitingRefund(payment) ? checkAfterMs : undefined,
        eventType: announces,
        eventVersion: PAYMENT_VERSIONS + version + 1,
        mcpServerId,
        eventsKept: this.#options.eventsPerShard,
        wakeUpChannel: this.keys.wake,
      },
    );
    const [result, event] = listOf(reply);
    if (result === 'conflict') return result;
    if (result !== 'committed') throw unknownResult();
    if (event !== '') this.#options.committed.note(shard, textOf(event));
    return result;
  }

  async counted(p: Parameters<PaymentStore['counted']>[0]): Promise<readonly CountedPayment[]> {
    const key = this.keys.countedPayments(shardOf(p.subject), p);
    return fieldsOf(await this.link.call('hgetall', key)).map(([id, value]) => {
      const [approvedAt, minorUnits] = textOf(value).split(' ').map(Number);
      if (approvedAt === undefined || minorUnits === undefined) throw new TypeError('Not a counted payment.');
      return { elicitationId: idOf(id), approvedAt, minorUnits };
    });
  }

  async checkLater(elicitationId: ElicitationId, of: CheckOf, delayMs: number): Promise<void> {
    const checks = this.#checks(shardIn(elicitationId), of);
    await this.repeatable('checkCharge', { checks }, { elicitationId, delayMs });
  }

  async dueChecks(shard: Shard, limit: number, withinMs = 0): Promise<readonly DueCheck[]> {
    const keys = { chargeChecks: this.keys.chargeChecks(shard), refundChecks: this.keys.refundChecks(shard) };
    const [charges, refunds] = listOf(await this.once('dueCharges', keys, { limit, withinMs }));
    const dueIn = (ids: unknown, of: CheckOf) => listOf(ids).map(id => ({ elicitationId: idOf(id), of }));
    return [...dueIn(charges, 'charge'), ...dueIn(refunds, 'refunds')];
  }

  async dropCheck(elicitationId: ElicitationId, of: CheckOf): Promise<void> {
    const checks = this.#checks(shardIn(elicitationId), of);
    if (of === 'charge') await this.link.call('zrem', checks, elicitationId);
    else
      await this.repeatable(
        'dropRefundCheck',
        { payments: this.keys.payments(elicitationId), refundChecks: checks },
        { elicitationId },
      );
  }

  #checks(shard: Shard, of: CheckOf): string {
    return of === 'charge' ? this.keys.chargeChecks(shard) : this.keys.refundChecks(shard);
  }
}

function idOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}
