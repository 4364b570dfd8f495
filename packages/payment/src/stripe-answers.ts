import type { PaymentMode } from '@postern/elicitation';
import { z } from 'zod';
import { type ChargeStatus, ProcessorError } from './processor.ts';
import { fromStripeAmount } from './stripe-amounts.ts';

/** Identifiers are stored, logged and put into paths, so they are bounded and plain. */
const stripeId = z.string().regex(/^[A-Za-z0-9_]{1,255}$/);

/** As much of a Checkout Session as is looked at. Strings instead of lists of values: Stripe adds to them. */
const sessionSchema = z.object({
  id: stripeId,
  object: z.literal('checkout.session'),
  status: z.string().nullable(),
  payment_status: z.string(),
  url: z.string().max(8192).nullish(),
  amount_total: z.int().min(0).nullable(),
  currency: z.string().nullable(),
  livemode: z.boolean(),
  payment_intent: z.union([stripeId, z.object({ id: stripeId, status: z.string() })]).nullish(),
});

export type CheckoutSession = z.output<typeof sessionSchema>;

/**
 * Parses a Checkout Session.
 * @param reference the id that was asked for, where one was
 * @throws ProcessorError `unavailable` for anything else, such as another session or the answer of a proxy
 */
export function parseSession(answer: unknown, reference?: string): CheckoutSession {
  const parsed = sessionSchema.safeParse(answer);
  if (!parsed.success || (reference ?? parsed.data.id) !== parsed.data.id) throw unreadableAnswer();
  return parsed.data;
}

/** The answer does not say what became of the request. */
export const unreadableAnswer = () => new ProcessorError('unavailable', { processorCode: 'invalid_answer' });

/** Whether only the payment intent tells if money is still on its way: the person has done their part, and nothing was paid. */
export function isToldByIntent({ status, payment_status }: CheckoutSession): boolean {
  return status === 'complete' && payment_status === 'unpaid';
}

/**
 * What a Checkout Session says about its charge. Its payment intent is expanded where {@link isToldByIntent}.
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

/** What Stripe says about itself; the prefix of the key is no proof. */
export const modeOf = ({ livemode }: Pick<CheckoutSession, 'livemode'>): PaymentMode => (livemode ? 'live' : 'test');

function paid({ id, amount_total, currency, payment_intent, livemode }: CheckoutSession): ChargeStatus {
  const amount = amount_total === null || currency === null ? undefined : fromStripeAmount(amount_total, currency);
  // It was paid; that what was paid cannot be read does not make it unpaid.
  if (amount === undefined) throw new ProcessorError('unavailable', { processorCode: 'unreadable_amount' });
  const paymentIntentId = typeof payment_intent === 'string' ? payment_intent : payment_intent?.id;
  return { state: 'paid', processorReference: paymentIntentId ?? id, amount, mode: modeOf({ livemode }) };
}

/** Payment methods that are settled later leave the session complete and unpaid, for good when they fail. */
function afterwards({ payment_status, payment_intent }: CheckoutSession): ChargeStatus {
  // Nothing was to be paid, and a complete session takes nothing any more.
  if (payment_status === 'no_payment_required') return { state: 'closed' };
  const status = typeof payment_intent === 'object' ? payment_intent?.status : undefined;
  return status === 'requires_payment_method' || status === 'canceled' ? { state: 'closed' } : { state: 'processing' };
}
