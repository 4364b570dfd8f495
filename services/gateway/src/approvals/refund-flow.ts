import {
  type Clock,
  DomainError,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  isAwaitingRefund,
  isOfKind,
  type McpServer,
  NotFoundError,
  type Payment,
  type PaymentChange,
  type Refund,
  refundedOf,
  refundIdOf,
  refusedRefund,
  reportedChange,
  type Stores,
} from '@postern/elicitation';
import { type PaymentProcessor, ProcessorError } from '@postern/payment';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import { MAX_CONFLICTS, refundFingerprint, reservedRefund } from './refund-reservation.ts';
import { createUnexpectedPayments } from './unexpected-payments.ts';

/** Bounds of the pause before the refunds of a payment are checked again. */
const PAUSE_MS = { least: 30_000, most: 3_600_000 };
/** The pause is this fraction of the age of the oldest pending refund. */
const PAUSE_DIVISOR = 4;

/** A payment at a processor, or an elicitation of a payment without one so far. */
export type PaymentStanding = { readonly payment: Payment } | { readonly elicitation: ElicitationOf<'payment'> };

/**
 * Pays back what processors have taken. A refund is reserved before any request to the processor. It has one name at the processor, so a
 * user, a recovery after a crash, or another replica that repeats a step makes the same refund. Only the processor's report says what was
 * paid back or disputed.
 */
export function createRefundFlow(p: {
  stores: Pick<Stores, 'payments'>;
  service: Pick<ElicitationService, 'read'>;
  processors: ReadonlyMap<string, PaymentProcessor>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  auditLog: AuditLog;
  now: Clock;
}) {
  const { payments } = p.stores;

  /** @throws NotFoundError for unknown elicitations, those of other MCP servers, and those of other kinds */
  async function read(mcpServer: McpServer, elicitationId: ElicitationId): Promise<PaymentStanding> {
    const own = (await payments.list(elicitationId)).filter(({ mcpServerId }) => mcpServerId === mcpServer.mcpServerId);
    const payment = own.find(({ completes }) => completes) ?? own[0];
    if (payment !== undefined) return { payment };
    const elicitation = await p.service.read(mcpServer, elicitationId).catch((error: unknown) => {
      throw error instanceof NotFoundError ? new NotFoundError('payment') : error;
    });
    if (!isOfKind(elicitation, 'payment')) throw new NotFoundError('payment');
    return { elicitation };
  }

  const find = async (elicitationId: ElicitationId, processorReference: string): Promise<Payment | undefined> =>
    (await payments.list(elicitationId)).find(payment => payment.processorReference === processorReference);

  /** @returns the payment as committed; undefined after a conflict */
  async function commit(change: PaymentChange): Promise<Payment | undefined> {
    if ((await payments.put(change)) === 'conflict') return undefined;
    const { payment, announces } = change;
    if (announces !== undefined)
      p.auditLog.record(announces, {
        ...payment,
        currency: payment.amount.currency,
        refundedMinorUnits: refundedOf(payment),
        dispute: announces === 'payment.disputed' ? payment.disputes.at(-1)?.status : undefined,
      });
    if (announces === 'payment.refund_failed' && !payment.completes) reportFailed(payment);
    return { ...change.payment, version: change.payment.version + 1, paidAt: change.payment.paidAt || p.now() };
  }

  const reportFailed = (payment: Payment) =>
    p.auditLog.record('payment.refund_needed', { ...payment, reason: 'refund_failed' });

  /**
   * Pays back a part of a payment, or all of it.
   * @param ask.key names the refund: the same key is the same refund
   * @returns the refund as it now stands
   * @throws NotFoundError, DomainError as `reserveRefund` and `payment_not_paid`, ProblemError `refund_not_possible`
   */
  async function refund(
    mcpServer: McpServer,
    elicitationId: ElicitationId,
    ask: { readonly key: string; readonly minorUnits?: number; readonly reason: string },
  ): Promise<Refund> {
    const { key, ...body } = ask;
    const { result, payment, refund } = await reservedRefund({
      canRefund: (name, amount) => p.processors.get(name)?.canRefund(amount),
      commit,
      async read() {
        const standing = await read(mcpServer, elicitationId);
        if (!('payment' in standing)) throw new DomainError('payment_not_paid', 'The payment was not made.');
        return standing.payment;
      },
      requestFor: of => ({
        refundId: refundIdOf(of, 'mcp_server', key),
        fingerprint: refundFingerprint(body),
        ...body,
        requestedBy: 'mcp_server',
        createdAt: p.now(),
      }),
    });
    if (result === 'reserved')
      p.auditLog.record('payment.refund_requested', { ...refund, ...payment, currency: payment.amount.currency });
    return settled(payment, refund);
  }

  /** Asks the processor to make a refund that it may not have yet. Returns the refund as it then stands. */
  async function settled(payment: Payment, refund: Refund): Promise<Refund> {
    if (refund.status !== 'pending' || refund.processorReference !== undefined) return refund;
    const { elicitationId, mcpServerId, processorReference, payeeAccount } = payment;
    const { refundId, minorUnits } = refund;
    const amount = { currency: payment.amount.currency, minorUnits };
    const known = await asked(payment, processor =>
      processor.refund({
        refundId,
        processorReference,
        amount,
        elicitationId,
        mcpServerId,
        payeeAccount,
      }),
    );
    if (known === undefined) return refund;
    const seen = 'refused' in known ? await asItStands(payment) : payment;
    if (seen === undefined) return refund;
    const after = await committed(seen, current => {
      if ('refused' in known) return refusedRefund(current, refundId, known.refused);
      // A webhook may have overtaken the response: a report that named the processor's reference is newer.
      const isReported = current.refunds.find(found => found.refundId === refundId)?.processorReference !== undefined;
      return isReported ? undefined : reportedChange(current, { refunds: [{ ...known.answer, refundId }] });
    });
    return after.refunds.find(found => found.refundId === refundId) ?? refund;
  }

  /**
   * Commits what has happened to a payment whose refund was refused: refunded elsewhere, disputed. Without a usable response, the refund
   * stays pending and a later check orders it again: given up now, it would leave a payment that only looks refundable.
   */
  async function asItStands(payment: Payment): Promise<Payment | undefined> {
    const refunded = await sync(payment, 'refunds');
    return refunded && sync(refunded, 'disputes');
  }

  /** Asks the processor. Undefined if it gives no usable response, so that a later check asks again. */
  async function asked<T>(
    payment: Payment,
    ask: (processor: PaymentProcessor) => Promise<T>,
  ): Promise<{ readonly answer: T } | { readonly refused: string | undefined } | undefined> {
    const processor = p.processors.get(payment.processor);
    if (processor === undefined) {
      p.auditLog.record('payment.processor_unavailable', { ...payment, code: 'not_configured' });
      return undefined;
    }
    try {
      return { answer: await ask(processor) };
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      if (error.code === 'refused') return { refused: error.processorCode };
      p.auditLog.record('payment.processor_unavailable', { ...payment, ...error.details, code: error.code });
      return undefined;
    }
  }

  /** Commits the changes that `next` returns, one after another. After a conflict it decides on the payment as it then is. */
  async function committed(payment: Payment, next: (current: Payment) => PaymentChange | undefined): Promise<Payment> {
    let current = payment;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; ) {
      const change = next(current);
      if (change === undefined) return current;
      const after = await commit(change);
      if (after === undefined) conflicts += 1;
      current = after ?? (await again(current));
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  async function again(payment: Payment): Promise<Payment> {
    const found = (await payments.list(payment.elicitationId)).find(
      ({ processorReference }) => processorReference === payment.processorReference,
    );
    return found ?? payment;
  }

  /**
   * Commits what the processor reports about a payment.
   * @returns the payment; undefined if the processor gave no usable response
   */
  async function sync(payment: Payment, about: 'refunds' | 'disputes'): Promise<Payment | undefined> {
    let current = payment;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const { processorReference, amount } = current;
      const report = await asked(current, async processor =>
        about === 'refunds'
          ? { refunds: await processor.refunds(processorReference, amount.currency) }
          : { disputes: await processor.disputes(processorReference) },
      );
      if (report === undefined || !('answer' in report)) return undefined;
      let isConflicting = false;
      while (!isConflicting) {
        const change = reportedChange(current, report.answer);
        if (change === undefined) return current;
        const after = await commit(change);
        isConflicting = after === undefined;
        // An older report must not replace a newer one: after a conflict, the processor is asked again.
        current = after ?? (await again(current));
      }
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  const unexpected = createUnexpectedPayments({ ...p, commit, settled });

  return {
    read,
    find,
    refund,
    sync,
    unexpected,

    /**
     * Finds out how the pending refunds of an elicitation's payments stand, and makes those that the processor lacks.
     * @param begin begins the requests about one payment, or returns false if it has no place for them now
     */
    async check(
      elicitationId: ElicitationId,
      begin: (payment: Payment, requests: () => Promise<void>) => unknown = (_, requests) => requests(),
    ): Promise<void> {
      const awaiting = (await payments.list(elicitationId)).filter(isAwaitingRefund);
      const since = awaiting.flatMap(({ refunds }) =>
        refunds.filter(({ status }) => status === 'pending').map(({ createdAt }) => createdAt),
      );
      if (since.length === 0) return payments.dropCheck(elicitationId, 'refunds');
      // Before the requests, so that replicas take turns, and another one takes over if this one dies.
      const pause = (p.now() - Math.min(...since)) / PAUSE_DIVISOR;
      const delay = Math.round(Math.min(Math.max(pause, PAUSE_MS.least), PAUSE_MS.most));
      await payments.checkLater(elicitationId, 'refunds', delay);
      let isSkipped = false;
      for (const payment of awaiting) {
        const begun = await begin(payment, async () => {
          const synced = await sync(payment, 'refunds');
          for (const refund of synced?.refunds ?? []) await settled(synced ?? payment, refund);
        });
        isSkipped ||= begun === false;
      }
      // A processor that was not asked is no reason for a longer pause.
      if (isSkipped) await payments.checkLater(elicitationId, 'refunds', PAUSE_MS.least);
    },
  };
}

export type RefundFlow = ReturnType<typeof createRefundFlow>;
