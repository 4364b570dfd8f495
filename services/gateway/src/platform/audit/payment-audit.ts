import { type Elicitation, type Payment, type PaymentEventType, type Refund, refundedOf } from '@postern/elicitation';
import type { ProcessorErrorDetails } from '@postern/payment';
import type { AuditTrail } from './audit-trail.ts';
import type { Pseudonyms } from './pseudonyms.ts';

const paymentFields = ({ elicitationId, mcpServerId, processor, processorReference, amount }: Payment) => ({
  elicitationId,
  mcpServerId,
  processor,
  processorReference,
  currency: amount.currency,
});

/** The audit events of charges, refunds and disputes. */
export function paymentAudit(audit: AuditTrail, pseudonym: Pseudonyms) {
  return {
    /** Money moved, or will move, but no MCP server learns of the payment. The operator must refund it. */
    refundNeeded: (
      elicitation: { readonly elicitationId: string; readonly mcpServerId?: string },
      p: { processor: string; processorReference: string; reason: string },
    ) =>
      audit.error(
        {
          event: 'payment.refund_needed',
          elicitationId: elicitation.elicitationId,
          mcpServerId: elicitation.mcpServerId,
          ...p,
        },
        'payment needs a refund',
      ),
    refundRequested: (payment: Payment, { refundId, minorUnits, requestedBy }: Refund) =>
      audit.info(
        { event: 'payment.refund_requested', ...paymentFields(payment), refundId, minorUnits, requestedBy },
        'refund requested',
      ),
    /** The processor has reported a change: `payment.refunded`, `payment.refund_failed`, `payment.disputed`. */
    paymentChanged: (payment: Payment, event: PaymentEventType) =>
      audit.info(
        {
          event,
          ...paymentFields(payment),
          refundedMinorUnits: refundedOf(payment),
          ...(event === 'payment.disputed' && { dispute: payment.disputes.at(-1)?.status }),
        },
        'payment changed at the processor',
      ),
    chargeRefused: ({ elicitationId, mcpServerId }: Elicitation, processor: string, details: ProcessorErrorDetails) =>
      audit.warn(
        { event: 'payment.refused', elicitationId, mcpServerId, processor, ...details },
        'payment refused by the processor',
      ),
    /** Usually resolved when the processor has finished. The operator checks the charges that stay open. */
    chargeNotClosed: (
      { elicitationId, mcpServerId }: Elicitation,
      processor: string,
      details: ProcessorErrorDetails = {},
    ) =>
      audit.info(
        { event: 'payment.not_closed', elicitationId, mcpServerId, processor, ...details },
        'payment not closed by the processor; retrying',
      ),
    processorUnavailable: (
      { elicitationId, mcpServerId }: { readonly elicitationId?: string; readonly mcpServerId?: string },
      processor: string,
      code: string,
      details: ProcessorErrorDetails = {},
    ) =>
      audit.warn(
        {
          event: 'payment.processor_unavailable',
          elicitationId,
          mcpServerId,
          processor,
          code,
          ...details,
        },
        'no response from the processor; retrying',
      ),
    webhookRefused: (p: { processor: string; code: string }) =>
      audit.warn({ event: 'payment.webhook_refused', ...p }, 'webhook refused'),
    dailyLimitReached: ({ elicitationId, mcpServerId, subject }: Elicitation) =>
      audit.warn(
        { event: 'payment.daily_limit_reached', elicitationId, mcpServerId, subject: pseudonym(subject) },
        'approval refused: above the daily limit of the user',
      ),
  };
}
