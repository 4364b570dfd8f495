import type { PaymentBody, RefundBody } from '@postern/api';
import {
  type ElicitationId,
  NotFoundError,
  parseElicitationId,
  type Refund,
  refundableOf,
  refundedOf,
} from '@postern/elicitation';
import type { ApiHandlers } from '../mcp-servers/api-handlers.ts';
import type { PaymentStanding, Refunds } from './refunds.ts';

export interface PaymentHandlersDeps {
  readonly refunds: Refunds;
}

/** Payments that processors have taken, for the MCP server that requested them. */
export const paymentHandlers = ({ refunds }: PaymentHandlersDeps): ApiHandlers<'readPayment' | 'refundPayment'> => ({
  async readPayment({ caller, parameters }) {
    const elicitationId = elicitationIdOf(parameters.elicitationId);
    return presentPayment(elicitationId, await refunds.read(caller, elicitationId));
  },

  async refundPayment({ caller, parameters, body, idempotencyKey: key }) {
    const elicitationId = elicitationIdOf(parameters.elicitationId);
    return presentRefund(await refunds.refund(caller, elicitationId, { key, ...body }));
  },
});

function elicitationIdOf(value: string): ElicitationId {
  const elicitationId = parseElicitationId(value);
  if (elicitationId === undefined) throw new NotFoundError('payment');
  return elicitationId;
}

function presentRefund(refund: Refund): RefundBody {
  const { refundId, minorUnits, status, requestedBy, createdAt, reason, processorReference, failure } = refund;
  return {
    refundId,
    minorUnits,
    status,
    requestedBy,
    createdAt: new Date(createdAt).toISOString(),
    reason,
    processorReference,
    ...(status === 'failed' && { failure: { processorCode: failure } }),
  };
}

function presentPayment(elicitationId: ElicitationId, standing: PaymentStanding): PaymentBody {
  if (!('payment' in standing)) {
    const { status, request } = standing.elicitation;
    const { currency, minorUnits } = request.terms.amount;
    return {
      elicitationId,
      status: status === 'completed' ? 'approved' : 'not_paid',
      processor: request.processor,
      amount: { currency, minorUnits },
      refundedMinorUnits: 0,
      refundableMinorUnits: 0,
      refunds: [],
      disputes: [],
    };
  }
  const { payment } = standing;
  const { processor, processorReference, amount, mode, paidAt, completes, refunds, disputes } = payment;
  const refunded = refundedOf(payment);
  return {
    elicitationId,
    status: refunded === 0 ? 'paid' : refunded < amount.minorUnits ? 'partially_refunded' : 'refunded',
    processor,
    amount,
    processorReference,
    completesElicitation: completes,
    mode,
    paidAt: paidAt === 0 ? undefined : new Date(paidAt).toISOString(),
    refundedMinorUnits: refunded,
    refundableMinorUnits: refundableOf(payment),
    refunds: refunds.map(presentRefund),
    disputes: disputes.map(dispute => ({ ...dispute, createdAt: new Date(dispute.createdAt).toISOString() })),
  };
}
