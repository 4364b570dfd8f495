import { z } from 'zod';
import { type ChargeStatus, ProcessorError } from './processor.ts';
import { fromStripeAmount } from './stripe-amounts.ts';

/** As much of a Checkout Session as is looked at. Strings instead of lists of values: Stripe adds to them. */
const sessionSchema = z.object({
  id: z.string().min(1).max(255),
  object: z.literal('checkout.session'),
  status: z.string().nullable(),
  payment_status: z.string(),
  url: z.string().nullish(),
  amount_total: z.int().min(0).nullable(),
  currency: z.string().nullable(),
  payment_intent: z.union([z.string(), z.object({ id: z.string(), status: z.string() })]).nullish(),
});

export type CheckoutSession = z.output<typeof sessionSchema>;

/** @throws ProcessorError `unavailable` for what is no Checkout Session: something other than Stripe has answered. */
export function parseSession(answer: unknown): CheckoutSession {
  const parsed = sessionSchema.safeParse(answer);
  if (!parsed.success) throw new ProcessorError('unavailable', { processorCode: 'invalid_answer' });
  return parsed.data;
}

/**
 * What a Checkout Session says about its charge, read with its payment intent expanded.
 * @throws ProcessorError `unavailable` for a status that is unknown, rather than guess
 */
export function chargeStatusOf(session: CheckoutSession): ChargeStatus {
  if (session.payment_status === 'paid') return paid(session);
  switch (session.status) {
    case 'open':
      return { state: 'open' };
    case 'expired':
      return { state: 'closed' };
    case 'complete':
      return afterwards(session);
    default:
      throw new ProcessorError('unavailable', { processorCode: 'unknown_status' });
  }
}

function paid({ id, amount_total, currency, payment_intent }: CheckoutSession): ChargeStatus {
  const amount = amount_total === null || currency === null ? undefined : fromStripeAmount(amount_total, currency);
  // It was paid; that what was paid cannot be read does not make it unpaid.
  if (amount === undefined) throw new ProcessorError('unavailable', { processorCode: 'unreadable_amount' });
  const paymentIntentId = typeof payment_intent === 'string' ? payment_intent : payment_intent?.id;
  return { state: 'paid', processorReference: paymentIntentId ?? id, amount };
}

/** Payment methods that are settled later leave the session complete and unpaid, for good when they fail. */
function afterwards({ payment_status, payment_intent }: CheckoutSession): ChargeStatus {
  // Nothing was to be paid, and a complete session takes nothing any more.
  if (payment_status === 'no_payment_required') return { state: 'closed' };
  const status = typeof payment_intent === 'object' ? payment_intent?.status : undefined;
  return status === 'requires_payment_method' || status === 'canceled' ? { state: 'closed' } : { state: 'processing' };
}
