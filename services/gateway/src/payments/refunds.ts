import {
  type Amount,
  type Clock,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  isAwaitingRefund,
  isOfKind,
  type McpServer,
  NotFoundError,
  type Payment,
  type PaymentChange,
  type PaymentStore,
  type Refund,
  type RefundRequest,
  refundableOf,
  refundedOf,
  refundIdOf,
  refusedRefund,
  reportedChange,
  reserveRefund,
} from '@postern/elicitation';
import { type ChargeStatus, type PaymentProcessor, ProcessorError } from '@postern/payment';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { ProblemError } from '../platform/http/problems.ts';

/** Bounds of the pause before the refunds of a payment are checked again. */
const PAUSE_MS = { least: 30_000, most: 3_600_000 };
/** The pause is this fraction of the age of the oldest pending refund. */
const PAUSE_DIVISOR = 4;
/** Another replica commits a change of the same payment between any two reads at most this often. */
const MAX_CONFLICTS = 20;

/** A payment at a processor, or an elicitation of a payment without one so far. */
export type PaymentStanding = { readonly payment: Payment } | { readonly elicitation: ElicitationOf<'payment'> };

/** A payment that completes no elicitation: made after its end, or of another amount than approved. */
export interface UnexpectedPayment {
  /** Undefined if the processor named no valid id. */
  readonly elicitationId: ElicitationId | undefined;
  /** As it is stored; undefined if it is no longer. */
  readonly elicitation: Elicitation | undefined;
  readonly processor: string;
  readonly status: Extract<ChargeStatus, { readonly state: 'paid' }>;
  /** Whether this gateway opened the charge. Others on the same account may name an elicitation too. */
  readonly isOwn: boolean;
  /** For the operator: how the elicitation ended, or what is wrong. */
  readonly reason: string;
  /** The id that the processor named. */
  readonly named?: string;
}

export interface RefundsDeps {
  readonly stores: { readonly payments: PaymentStore };
  readonly service: Pick<ElicitationService, 'read'>;
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly auditLog: AuditLog;
  readonly now: Clock;
}

/**
 * Pays back what processors have taken. A refund is reserved before any request to the processor. It has one name at the processor, so a
 * user, a recovery after a crash, or another replica that repeats a step makes the same refund. Only the processor's report says what was
 * paid back or disputed.
 */
export class Refunds {
  readonly #deps: RefundsDeps;
  readonly #payments: PaymentStore;

  constructor(deps: RefundsDeps) {
    this.#deps = deps;
    this.#payments = deps.stores.payments;
  }

  /** @throws NotFoundError for unknown elicitations, those of other MCP servers, and those of other kinds */
  async read(mcpServer: McpServer, elicitationId: ElicitationId): Promise<PaymentStanding> {
    const own = (await this.#payments.list(elicitationId)).filter(
      ({ mcpServerId }) => mcpServerId === mcpServer.mcpServerId,
    );
    const payment = own.find(({ completes }) => completes) ?? own[0];
    if (payment !== undefined) return { payment };
    const elicitation = await this.#deps.service.read(mcpServer, elicitationId).catch((error: unknown) => {
      throw error instanceof NotFoundError ? new NotFoundError('payment') : error;
    });
    if (!isOfKind(elicitation, 'payment')) throw new NotFoundError('payment');
    return { elicitation };
  }

  async find(elicitationId: ElicitationId, processorReference: string): Promise<Payment | undefined> {
    return (await this.#payments.list(elicitationId)).find(
      payment => payment.processorReference === processorReference,
    );
  }

  /**
   * Pays back a part of a payment, or all of it.
   * @param ask.key names the refund: the same key is the same refund
   * @returns the refund as it now stands
   * @throws NotFoundError, DomainError as `reserveRefund` and `payment_not_paid`, ProblemError `refund_not_possible`
   */
  async refund(
    mcpServer: McpServer,
    elicitationId: ElicitationId,
    ask: { readonly key: string; readonly minorUnits?: number; readonly reason: string },
  ): Promise<Refund> {
    const { processors, auditLog, now } = this.#deps;
    const { key, ...body } = ask;
    const { result, payment, refund } = await reservedRefund({
      canRefund: (name, amount) => processors.get(name)?.canRefund(amount),
      commit: change => this.#commit(change),
      read: async () => {
        const standing = await this.read(mcpServer, elicitationId);
        if (!('payment' in standing)) throw new DomainError('payment_not_paid', 'The payment was not made.');
        return standing.payment;
      },
      requestFor: of => ({
        refundId: refundIdOf(of, 'mcp_server', key),
        fingerprint: refundFingerprint(body),
        ...body,
        requestedBy: 'mcp_server',
        createdAt: now(),
      }),
    });
    if (result === 'reserved')
      auditLog.record('payment.refund_requested', { ...refund, ...payment, currency: payment.amount.currency });
    return this.#make(payment, refund);
  }

  /**
   * Commits what the processor reports about a payment.
   * @returns the payment; undefined if the processor gave no usable response
   */
  async sync(payment: Payment, about: 'refunds' | 'disputes'): Promise<Payment | undefined> {
    let current = payment;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const { processorReference, amount } = current;
      const report = await this.#ask(current, async processor =>
        about === 'refunds'
          ? { refunds: await processor.refunds(processorReference, amount.currency) }
          : { disputes: await processor.disputes(processorReference) },
      );
      if (report === undefined || !('answer' in report)) return undefined;
      let isConflicting = false;
      while (!isConflicting) {
        const change = reportedChange(current, report.answer);
        if (change === undefined) return current;
        const after = await this.#commit(change);
        isConflicting = after === undefined;
        // An older report must not replace a newer one: after a conflict, the processor is asked again.
        current = after ?? (await this.#reread(current));
      }
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  /**
   * Finds out how the pending refunds of an elicitation's payments stand, and makes those that the processor lacks.
   * @param begin begins the requests about one payment, or returns false if it has no place for them now
   */
  async check(
    elicitationId: ElicitationId,
    begin: (payment: Payment, requests: () => Promise<void>) => unknown = (_, requests) => requests(),
  ): Promise<void> {
    const payments = this.#payments;
    const awaiting = (await payments.list(elicitationId)).filter(isAwaitingRefund);
    const since = awaiting.flatMap(({ refunds }) =>
      refunds.filter(({ status }) => status === 'pending').map(({ createdAt }) => createdAt),
    );
    if (since.length === 0) return payments.dropCheck(elicitationId, 'refunds');
    // Before the requests, so that replicas take turns, and another one takes over if this one dies.
    const pause = (this.#deps.now() - Math.min(...since)) / PAUSE_DIVISOR;
    const delay = Math.round(Math.min(Math.max(pause, PAUSE_MS.least), PAUSE_MS.most));
    await payments.checkLater(elicitationId, 'refunds', delay);
    let isSkipped = false;
    for (const payment of awaiting) {
      const begun = await begin(payment, async () => {
        const synced = await this.sync(payment, 'refunds');
        for (const refund of synced?.refunds ?? []) await this.#make(synced ?? payment, refund);
      });
      isSkipped ||= begun === false;
    }
    // A processor that was not asked is no reason for a longer pause.
    if (isSkipped) await payments.checkLater(elicitationId, 'refunds', PAUSE_MS.least);
  }

  /**
   * Records a payment that completes no elicitation, so that it can be paid back. Where the policy of its MCP server says so, the commit
   * that records it also reserves its refund, which has one name: the processor is asked after that, by this or a later call or a check,
   * and repeated webhooks find both. Otherwise the operator gets a report before the note that stops repeats: after a crash between the
   * two, the operator gets it twice instead of never.
   */
  async recordUnexpected(unexpected: UnexpectedPayment): Promise<void> {
    const { elicitationId, elicitation, processor, status, isOwn, reason, named } = unexpected;
    const { mcpServers, processors, auditLog } = this.#deps;
    const { processorReference, amount, mode } = status;
    const about = elicitation ?? { elicitationId: named ?? elicitationId ?? '' };
    const report = () => auditLog.record('payment.refund_needed', { ...about, processor, processorReference, reason });
    if (elicitationId === undefined) return report();
    if (elicitation === undefined || !isOfKind(elicitation, 'payment')) report();
    else {
      const { mcpServerId, request } = elicitation;
      const policy = mcpServers.get(mcpServerId)?.config.payment;
      const isPaidBack =
        policy?.refundUnexpected === true &&
        isOwn &&
        request.processor === processor &&
        processors.get(processor)?.canRefund(amount) === true;
      const facts = {
        mcpServerId,
        processor,
        processorReference,
        amount,
        mode,
        completes: false,
        payeeAccount: request.payeeAccount,
      };
      const recorded = await this.#recordPayment({ ...facts, elicitationId }, isPaidBack ? reason : undefined);
      if (recorded === undefined) return;
      const [refund] = recorded.refunds.filter(({ requestedBy }) => requestedBy === 'gateway');
      if (refund === undefined) report();
      else await this.#make(recorded, refund);
    }
    await this.#payments.recordReported(elicitationId, processorReference);
  }

  /**
   * @param reason of the refund to reserve; undefined for none
   * @returns undefined if the payment has completed its elicitation after all
   */
  async #recordPayment(
    facts: Omit<Payment, 'version' | 'paidAt' | 'refunds' | 'disputes'>,
    reason: string | undefined,
  ): Promise<Payment | undefined> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const stored = await this.#payments.list(facts.elicitationId);
      const version = stored[0]?.version ?? 0;
      const known = stored.find(({ processorReference }) => processorReference === facts.processorReference);
      if (known?.completes === true) return undefined;
      const payment = known ?? { ...facts, version, paidAt: 0, refunds: [], disputes: [] };
      const refundId = refundIdOf(payment, 'gateway', 'unexpected');
      const request = { refundId, fingerprint: 'unexpected', createdAt: this.#deps.now() };
      // The bank, an employee at the processor, or this gateway has paid it back already.
      const isOpen =
        payment.disputes.length === 0 &&
        refundableOf(payment) > 0 &&
        !payment.refunds.some(({ requestedBy }) => requestedBy === 'gateway');
      const reserved =
        reason !== undefined && isOpen
          ? reserveRefund(payment, { ...request, reason, requestedBy: 'gateway' })
          : undefined;
      if (known !== undefined && reserved?.result !== 'reserved') return known;
      const committed = await this.#commit({ payment: reserved?.payment ?? payment });
      if (committed === undefined) continue;
      if (reserved !== undefined)
        this.#deps.auditLog.record('payment.refund_requested', {
          ...reserved.refund,
          ...committed,
          currency: committed.amount.currency,
        });
      return committed;
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  /** Asks the processor to make a refund that it may not have yet. Returns the refund as it then stands. */
  async #make(payment: Payment, refund: Refund): Promise<Refund> {
    if (refund.status !== 'pending' || refund.processorReference !== undefined) return refund;
    const { elicitationId, mcpServerId, processorReference, payeeAccount } = payment;
    const { refundId, minorUnits } = refund;
    const amount = { currency: payment.amount.currency, minorUnits };
    const known = await this.#ask(payment, processor =>
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
    const seen = 'refused' in known ? await this.#asItStands(payment) : payment;
    if (seen === undefined) return refund;
    const after = await this.#commitChanges(seen, current => {
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
  async #asItStands(payment: Payment): Promise<Payment | undefined> {
    const refunded = await this.sync(payment, 'refunds');
    return refunded && this.sync(refunded, 'disputes');
  }

  /** Undefined if the processor gives no usable response, so that a later check asks again. */
  async #ask<T>(
    payment: Payment,
    ask: (processor: PaymentProcessor) => Promise<T>,
  ): Promise<{ readonly answer: T } | { readonly refused: string | undefined } | undefined> {
    const { processors, auditLog } = this.#deps;
    const processor = processors.get(payment.processor);
    if (processor === undefined) {
      auditLog.record('payment.processor_unavailable', { ...payment, code: 'not_configured' });
      return undefined;
    }
    try {
      return { answer: await ask(processor) };
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      if (error.code === 'refused') return { refused: error.processorCode };
      auditLog.record('payment.processor_unavailable', { ...payment, ...error.details, code: error.code });
      return undefined;
    }
  }

  /** Commits the changes that `next` returns, one after another. After a conflict it decides on the payment as it then is. */
  async #commitChanges(payment: Payment, next: (current: Payment) => PaymentChange | undefined): Promise<Payment> {
    let current = payment;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; ) {
      const change = next(current);
      if (change === undefined) return current;
      const after = await this.#commit(change);
      if (after === undefined) conflicts += 1;
      current = after ?? (await this.#reread(current));
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  /** @returns the payment as committed; undefined after a conflict */
  async #commit(change: PaymentChange): Promise<Payment | undefined> {
    if ((await this.#payments.put(change)) === 'conflict') return undefined;
    const { auditLog, now } = this.#deps;
    const { payment, announces } = change;
    if (announces !== undefined)
      auditLog.record(announces, {
        ...payment,
        currency: payment.amount.currency,
        refundedMinorUnits: refundedOf(payment),
        dispute: announces === 'payment.disputed' ? payment.disputes.at(-1)?.status : undefined,
      });
    if (announces === 'payment.refund_failed' && !payment.completes)
      auditLog.record('payment.refund_needed', { ...payment, reason: 'refund_failed' });
    return { ...payment, version: payment.version + 1, paidAt: payment.paidAt || now() };
  }

  async #reread(payment: Payment): Promise<Payment> {
    return (await this.find(payment.elicitationId, payment.processorReference)) ?? payment;
  }
}

/** Whether a processor can pay back exactly this amount; undefined if it is not configured. */
export type CanRefund = (processor: string, amount: Amount) => boolean | undefined;

/** Recognizes another request under the same key. */
export const refundFingerprint = (p: { readonly minorUnits?: number; readonly reason: string }): string =>
  digestOf(JSON.stringify([p.minorUnits ?? 'all', p.reason])).slice(0, 22);

/** Returns the payments of an elicitation. The first is the one that completed it, if one did. */
export const paymentsOf = async (
  payments: Pick<PaymentStore, 'list'>,
  elicitationId: ElicitationId,
): Promise<readonly Payment[]> =>
  (await payments.list(elicitationId)).toSorted(
    (one, other) => Number(other.completes) - Number(one.completes) || one.paidAt - other.paidAt,
  );

/**
 * Decides on a refund of a payment as it stands, and changes nothing.
 * @throws DomainError as `reserveRefund`, ProblemError `refund_not_possible`
 */
export function decideRefund(
  canRefund: CanRefund,
  payment: Payment,
  request: RefundRequest,
): ReturnType<typeof reserveRefund> {
  const decided = reserveRefund(payment, request);
  if (decided.result === 'reserved') assertPossible(canRefund, payment, decided.refund);
  return decided;
}

/** @throws ProblemError `refund_not_possible` */
function assertPossible(canRefund: CanRefund, { processor, amount }: Payment, { minorUnits }: Refund): void {
  const isPossible = canRefund(processor, { currency: amount.currency, minorUnits });
  if (isPossible === undefined)
    throw new ProblemError('refund_not_possible', { detail: 'The payment processor is no longer configured.' });
  if (!isPossible)
    throw new ProblemError('refund_not_possible', {
      errors: [{ path: 'body.minorUnits', message: 'the processor cannot represent this amount' }],
    });
}

/**
 * Reserves a refund in the commit that checks it against the amount, before any request to the processor. A killed process leaves the
 * reservation, and the background check of any replica makes the refund.
 * @param p.commit returns the payment as committed; undefined after a conflict
 * @returns `known`: this refund was reserved before
 * @throws as `decideRefund`, and what `read` and `requestFor` throw
 */
export async function reservedRefund(p: {
  readonly canRefund: CanRefund;
  readonly commit: (change: PaymentChange) => Promise<Payment | undefined>;
  readonly read: () => Promise<Payment>;
  readonly requestFor: (payment: Payment) => RefundRequest;
}): Promise<{ readonly result: 'known' | 'reserved'; readonly payment: Payment; readonly refund: Refund }> {
  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
    const payment = await p.read();
    const decided = decideRefund(p.canRefund, payment, p.requestFor(payment));
    if (decided.result === 'known') return decided;
    const committed = await p.commit({ payment: decided.payment });
    if (committed !== undefined) return { ...decided, payment: committed };
  }
  throw new DomainError('contention', 'The payment keeps changing.');
}
