import {
  type Clock,
  DomainError,
  type Elicitation,
  type ElicitationId,
  isOfKind,
  type Payment,
  type PaymentChange,
  type Refund,
  refundableOf,
  refundIdOf,
  reserveRefund,
  type Stores,
} from '@postern/elicitation';
import type { ChargeStatus, PaymentProcessor } from '@postern/payment';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import { MAX_CONFLICTS } from './refund-reservation.ts';

interface UnexpectedPayment {
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

/** Handles payments that complete no elicitation: made after its end, or of another amount than approved. */
export function createUnexpectedPayments(p: {
  stores: Pick<Stores, 'payments'>;
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canRefund'>>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  auditLog: AuditLog;
  now: Clock;
  /** Returns the payment as committed; undefined after a conflict. */
  commit: (change: PaymentChange) => Promise<Payment | undefined>;
  /** Asks the processor to make a reserved refund, unless it has it. */
  settled: (payment: Payment, refund: Refund) => Promise<Refund>;
}) {
  const { payments } = p.stores;
  const { commit, settled } = p;

  /** @returns undefined if the payment has completed its elicitation after all */
  async function recordedUnexpected(
    facts: Omit<Payment, 'version' | 'paidAt' | 'refunds' | 'disputes'>,
    reason: string | undefined,
  ): Promise<Payment | undefined> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const stored = await payments.list(facts.elicitationId);
      const version = stored[0]?.version ?? 0;
      const known = stored.find(({ processorReference }) => processorReference === facts.processorReference);
      if (known?.completes === true) return undefined;
      const payment = known ?? { ...facts, version, paidAt: 0, refunds: [], disputes: [] };
      const refundId = refundIdOf(payment, 'gateway', 'unexpected');
      const request = { refundId, fingerprint: 'unexpected', createdAt: p.now() };
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
      const committed = await commit({ payment: reserved?.payment ?? payment });
      if (committed === undefined) continue;
      if (reserved !== undefined)
        p.auditLog.record('payment.refund_requested', {
          ...reserved.refund,
          ...committed,
          currency: committed.amount.currency,
        });
      return committed;
    }
    throw new DomainError('contention', 'The payment keeps changing.');
  }

  /**
   * Records a payment that completes no elicitation, so that it can be paid back. Where the policy of its MCP server says so, the commit
   * that records it also reserves its refund, which has one name: the processor is asked after that, by this or a later call or a check,
   * and repeated webhooks find both. Otherwise the operator gets a report before the note that stops repeats: after a crash between the
   * two, the operator gets it twice instead of never.
   */
  return async function unexpected({
    elicitationId,
    elicitation,
    processor,
    status,
    isOwn,
    reason,
    named,
  }: UnexpectedPayment) {
    const { processorReference, amount, mode } = status;
    const about = elicitation ?? { elicitationId: named ?? elicitationId ?? '' };
    const report = () =>
      p.auditLog.record('payment.refund_needed', { ...about, processor, processorReference, reason });
    if (elicitationId === undefined) return report();
    if (elicitation === undefined || !isOfKind(elicitation, 'payment')) report();
    else {
      const { mcpServerId, request } = elicitation;
      const policy = p.mcpServers.get(mcpServerId)?.config.payment;
      const isPaidBack =
        policy?.refundUnexpected === true &&
        isOwn &&
        request.processor === processor &&
        p.processors.get(processor)?.canRefund(amount) === true;
      const facts = {
        mcpServerId,
        processor,
        processorReference,
        amount,
        mode,
        completes: false,
        payeeAccount: request.payeeAccount,
      };
      const recorded = await recordedUnexpected({ ...facts, elicitationId }, isPaidBack ? reason : undefined);
      if (recorded === undefined) return;
      const [refund] = recorded.refunds.filter(({ requestedBy }) => requestedBy === 'gateway');
      if (refund === undefined) report();
      else await settled(recorded, refund);
    }
    await payments.recordReported(elicitationId, processorReference);
  };
}
