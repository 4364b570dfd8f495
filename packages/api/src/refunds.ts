import { z } from 'zod/v4';
import { elicitationIdSchema } from './identifiers.ts';
import { MAX_MINOR_UNITS, minorUnitsSchema } from './payments.ts';
import { plainText } from './plain-text.ts';

export const refundRequestSchema = z
  .strictObject({
    minorUnits: minorUnitsSchema
      .min(1)
      .max(MAX_MINOR_UNITS)
      .optional()
      .describe('In the currency of the payment. Default: everything that can still be paid back.'),
    reason: plainText(200).describe(
      'Why, for your records and the operator. Neither the user nor the processor sees it.',
    ),
  })
  .meta({ id: 'RefundRequest' });

export const refundSchema = z
  .object({
    refundId: z.string(),
    minorUnits: z.int(),
    status: z
      .enum(['pending', 'succeeded', 'failed'])
      .describe('`pending`: it may still fail. The gateway finds out, and announces the end.'),
    requestedBy: z
      .enum(['mcp_server', 'processor', 'gateway', 'operator'])
      .describe(
        '`processor`: made there, for example in its dashboard. `gateway`: the payment was unexpected. `operator`: made by the operator ' +
          'of the gateway.',
      ),
    createdAt: z.iso.datetime(),
    reason: z.string().optional(),
    processorReference: z.string().optional().describe("The processor's id of the refund, once it is known."),
    failure: z
      .object({ processorCode: z.string().optional() })
      .optional()
      .describe('Present when failed. A failed refund counts as not paid back.'),
  })
  .meta({ id: 'Refund' });

const disputeSchema = z
  .object({
    processorReference: z.string(),
    currency: z.string().describe('Of the amount that the bank claims. May differ from that of the payment.'),
    minorUnits: z.int(),
    status: z
      .enum(['inquiry', 'open', 'won', 'lost'])
      .describe(
        '`inquiry`: the bank asks. `open`: the bank has taken the amount back and decides. `won` and `lost`: its decision, for the payee.',
      ),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Dispute' });

export const paymentSchema = z
  .object({
    elicitationId: elicitationIdSchema,
    status: z
      .enum(['not_paid', 'approved', 'paid', 'partially_refunded', 'refunded'])
      .describe(
        '`not_paid`: no payment so far, or it ended without one. `approved`: the MCP server takes the money itself (`none`), so the ' +
          'gateway knows no more. `partially_refunded` and `refunded` count refunds that succeeded.',
      ),
    processor: z.string(),
    amount: z.object({ currency: z.string(), minorUnits: z.int() }).describe('The paid amount, or the requested one.'),
    processorReference: z.string().optional().describe("The processor's id of the payment."),
    mode: z.enum(['live', 'test']).optional(),
    paidAt: z.iso.datetime().optional(),
    completesElicitation: z
      .boolean()
      .optional()
      .describe('False for a payment of another amount, or one that was made after the end of its elicitation.'),
    refundedMinorUnits: z.int().describe('Sum of the refunds that succeeded.'),
    refundableMinorUnits: z.int().describe('What can still be paid back. Pending refunds count as paid back.'),
    refunds: z.array(refundSchema),
    disputes: z.array(disputeSchema),
  })
  .meta({ id: 'Payment' });

export type RefundRequestBody = z.infer<typeof refundRequestSchema>;
export type RefundBody = z.infer<typeof refundSchema>;
export type PaymentBody = z.infer<typeof paymentSchema>;
