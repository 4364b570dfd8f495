import {
  disputeStatuses,
  type ElicitationId,
  type Payment,
  type PaymentFacts,
  refundOrigins,
  refundStatuses,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, text, time, timed } from './record-layout.ts';

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
export function decodePayment(elicitationId: ElicitationId, version: number, stored: string): Payment {
  const record = stored.slice(stored.indexOf(' ') + 1);
  const { at, ...payment } = decode(paymentSchema, record, fields => ({ ...fields, ...timed(stored, () => ({})) }));
  return { ...payment, elicitationId, version, paidAt: at };
}
