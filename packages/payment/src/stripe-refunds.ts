import type { Dispute, DisputeStatus, RefundStatus, ReportedRefund } from '@postern/elicitation';
import type { Stripe } from 'stripe';
import { z } from 'zod';
import { type PaymentOwner, ProcessorError, type RefundOrder } from './processor.ts';
import { fromStripeAmount, toStripeAmount } from './stripe-amounts.ts';
import { isReplayedFailure, refundErrorOf, stripeId, unavailableOf, unreadableResponse } from './stripe-responses.ts';

/** Maximum number of keys tried for one refund: its own, and one more for each failure that Stripe has stored. */
const MAX_KEYS = 4;
/** Far more than a payment ever has. Stripe returns 100 per page. */
const MAX_LISTED = 1_000;

/** In seconds since 1970, up to the last that a `Date` can hold. */
const created = z.int().min(0).max(8_640_000_000_000);

const refundSchema = z.object({
  id: stripeId,
  object: z.literal('refund'),
  amount: z.int().min(0),
  currency: z.string(),
  created,
  status: z.string().nullable(),
  failure_reason: z.string().nullish(),
  payment_intent: stripeId.nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

const disputeSchema = z.object({
  id: stripeId,
  object: z.literal('dispute'),
  amount: z.int().min(0),
  currency: z.string(),
  created,
  status: z.string(),
  payment_intent: stripeId.nullish(),
  payment_method_details: z.object({ card: z.object({ case_type: z.string() }).nullish() }).nullish(),
});

const intentSchema = z.object({
  id: stripeId,
  object: z.literal('payment_intent'),
  metadata: z.record(z.string(), z.string()),
});

/** All others are pending. */
const refundStatuses: ReadonlyMap<string, RefundStatus> = new Map([
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
]);

/**
 * The bank has the amount while it decides (`needs_response`, `under_review`, and both of an appeal), as in any status that is not listed.
 * In the early phases (`warning_…`) it has taken nothing.
 * @see https://docs.stripe.com/api/disputes/object
 */
const disputeStatuses: Readonly<Record<string, DisputeStatus>> = {
  warning_needs_response: 'inquiry',
  warning_under_review: 'inquiry',
  warning_closed: 'won',
  won: 'won',
  lost: 'lost',
};

/** A prevented dispute was either blocked before it moved money, or resolved: the payer already has the amount. */
function disputeStatusOf({ status, payment_method_details: details }: z.output<typeof disputeSchema>): DisputeStatus {
  if (status === 'prevented') return details?.card?.case_type === 'block' ? 'won' : 'lost';
  return Object.hasOwn(disputeStatuses, status) ? (disputeStatuses[status] ?? 'open') : 'open';
}

/** Refunds and disputes of payments. The reference of a payment is its PaymentIntent. */
export function createStripeRefunds(stripe: Stripe, gateway: string) {
  /** @throws ProcessorError `unavailable` */
  async function refunds(processorReference: string, currency: string): Promise<readonly ReportedRefund[]> {
    const listed = await all(stripe.refunds.list({ payment_intent: processorReference, limit: 100 }));
    return listed.map(refund => reportOf(parse(refundSchema, refund, processorReference), { currency, gateway }));
  }

  async function create(order: RefundOrder, amount: number): Promise<ReportedRefund> {
    const { refundId, processorReference, elicitationId, mcpServerId, payeeAccount } = order;
    const { currency } = order.amount;
    const params: Stripe.RefundCreateParams = {
      payment_intent: processorReference,
      amount,
      metadata: { gateway, elicitationId, mcpServerId, refundId },
      // Otherwise the connected account would keep the money, and the platform would pay the refund.
      ...(payeeAccount !== undefined && { reverse_transfer: true }),
    };
    for (let n = 1; ; n += 1) {
      const idempotencyKey = `postern-refund-${refundId}${n === 1 ? '' : `-${n}`}`;
      try {
        const refund = await stripe.refunds.create(params, { idempotencyKey });
        return reportOf(parse(refundSchema, refund, processorReference), { currency, gateway });
      } catch (error) {
        // Stripe repeats a stored failure of its own. The list showed that the failed request has made no refund.
        if (n === MAX_KEYS || !isReplayedFailure(error)) throw refundErrorOf(error);
      }
    }
  }

  return {
    refunds,

    /**
     * Looks for the refund first: Stripe forgets idempotency keys after a day, and a request that seemed to fail may have made it.
     * @throws ProcessorError `refused`, `unavailable`
     */
    async refund(order: RefundOrder): Promise<ReportedRefund> {
      const amount = toStripeAmount(order.amount);
      if (amount === undefined) throw new ProcessorError('refused', { processorCode: 'amount_not_representable' });
      const listed = await refunds(order.processorReference, order.amount.currency);
      return listed.find(({ refundId }) => refundId === order.refundId) ?? (await create(order, amount));
    },

    /** @throws ProcessorError `unavailable` */
    async disputes(processorReference: string): Promise<readonly Dispute[]> {
      const listed = await all(stripe.disputes.list({ payment_intent: processorReference, limit: 100 }));
      return listed.map(dispute => {
        const parsed = parse(disputeSchema, dispute, processorReference);
        const { id, amount, currency, created } = parsed;
        return {
          processorReference: id,
          ...amountOf(amount, currency),
          createdAt: created * 1000,
          status: disputeStatusOf(parsed),
        };
      });
    },

    /** @throws ProcessorError `unavailable` */
    async ownerOf(processorReference: string): Promise<PaymentOwner> {
      const intent = await stripe.paymentIntents.retrieve(processorReference).catch((error: unknown) => {
        throw unavailableOf(error);
      });
      const parsed = intentSchema.safeParse(intent);
      if (!parsed.success || parsed.data.id !== processorReference) throw unreadableResponse();
      const { elicitationId, gateway: named } = parsed.data.metadata;
      return { elicitationId, gateway: named };
    },
  };
}

async function all<T>(list: { autoPagingToArray(options: { limit: number }): Promise<T[]> }): Promise<T[]> {
  try {
    return await list.autoPagingToArray({ limit: MAX_LISTED });
  } catch (error) {
    throw unavailableOf(error);
  }
}

/** @throws ProcessorError `unavailable` for anything else than an object of this payment */
function parse<T extends { readonly payment_intent?: string | null | undefined }>(
  schema: z.ZodType<T>,
  response: unknown,
  processorReference: string,
): T {
  const parsed = schema.safeParse(response);
  if (!parsed.success || parsed.data.payment_intent !== processorReference) throw unreadableResponse();
  return parsed.data;
}

/** @throws ProcessorError `unavailable` for another currency than that of the payment */
function reportOf(
  refund: z.output<typeof refundSchema>,
  expected: { readonly currency: string; readonly gateway: string },
): ReportedRefund {
  const { id, amount, created, status, failure_reason, metadata } = refund;
  const { minorUnits, currency } = amountOf(amount, refund.currency);
  if (currency !== expected.currency) throw unreadableResponse();
  const failure = /^[a-z][a-z0-9_]{0,63}$/.test(failure_reason ?? '') ? (failure_reason ?? undefined) : undefined;
  return {
    processorReference: id,
    minorUnits,
    createdAt: created * 1000,
    status: refundStatuses.get(status ?? '') ?? 'pending',
    failure,
    refundId: metadata?.['gateway'] === expected.gateway ? metadata['refundId'] : undefined,
  };
}

function amountOf(amount: number, currency: string) {
  const known = fromStripeAmount(amount, currency);
  if (known === undefined) throw new ProcessorError('unavailable', { processorCode: 'unreadable_amount' });
  return known;
}
