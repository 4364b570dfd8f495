import { type PaymentBody, type RefundBody, refundRequestSchema } from '@postern/api';
import {
  type ElicitationId,
  NotFoundError,
  parseElicitationId,
  type Refund,
  refundableOf,
  refundedOf,
} from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { callerOf } from '../mcp-servers/caller-auth.ts';
import { idempotencyKeyOf, parse } from '../platform/http/parse.ts';
import { ProblemError } from '../platform/http/problems.ts';
import type { PaymentStanding, Refunds } from './refunds.ts';

interface ById {
  Params: { elicitationId: string };
}

export interface PaymentRoutesDeps {
  readonly refunds: Refunds;
}

/** Payments that processors have taken, for the MCP server that requested them. */
export const paymentRoutes: FastifyPluginAsync<{ deps: PaymentRoutesDeps }> = async (app, { deps }) => {
  app.get<ById>('/payments/:elicitationId', async (request): Promise<PaymentBody> => {
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    return presentPayment(elicitationId, await deps.refunds.read(callerOf(request), elicitationId));
  });

  app.post<ById>('/payments/:elicitationId/refunds', async (request, reply) => {
    const key = idempotencyKeyOf(request);
    if (key === undefined)
      throw new ProblemError('invalid_request', {
        errors: [{ path: 'header.idempotency-key', message: 'a refund needs a key that names it' }],
      });
    const ask = parse(refundRequestSchema, request.body, 'body');
    const elicitationId = elicitationIdOf(request.params.elicitationId);
    const refund = await deps.refunds.refund(callerOf(request), elicitationId, { key, ...ask });
    return reply.code(201).send(presentRefund(refund));
  });
};

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
