import type { Clock } from '@postern/elicitation';
import { Stripe } from 'stripe';
import { z } from 'zod';
import { type ChargeEvent, type PaymentEvent, type PaymentOwner, ProcessorError } from './processor.ts';
import { stripeId } from './stripe-responses.ts';

/** Maximum age of a signature, in seconds. Stripe signs every delivery again. */
const TOLERANCE = 300;

const sessionTypes = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
] as const;

const paymentTypes = [
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const;

/** Events that the webhook endpoint must receive. */
export const webhookTypes = [...sessionTypes, ...paymentTypes] as const;

/** Stripe names the connected account that an event is from. Its owner writes its metadata, and the gateway takes no payments there. */
const ofPlatform = { account: z.never().optional() };

const sessionEventSchema = z.object({
  ...ofPlatform,
  type: z.enum(sessionTypes),
  data: z.object({
    object: z.object({
      id: z.string().min(1).max(255),
      object: z.literal('checkout.session'),
      metadata: z.object({ elicitationId: z.string().min(1).max(128), gateway: z.string().optional() }),
    }),
  }),
});

/** A charge, a refund or a dispute. */
const paymentEventSchema = z.object({
  ...ofPlatform,
  type: z.enum(paymentTypes),
  data: z.object({ object: z.object({ object: z.enum(['charge', 'refund', 'dispute']), payment_intent: stripeId }) }),
});

/** Only ids. The status of the session, and the refunds and disputes of the payment, are read from Stripe. */
const eventSchema = z.union([sessionEventSchema, paymentEventSchema]);

/**
 * Verifies a webhook of Stripe and returns the charge or the payment that it is about. Stripe repeats webhooks; handling them once is up to
 * the caller.
 *
 * A charge has the metadata of its PaymentIntent, a dispute and a refund of the dashboard have none. So the PaymentIntent names the owner.
 * @param p.ownerOf reads the PaymentIntent; throws ProcessorError `unavailable`
 * @returns undefined for other events, for events of connected accounts, and for sessions of other gateways
 * @throws ProcessorError `signature_invalid`
 */
export async function readWebhook(
  { body, headers }: { readonly body: Uint8Array; readonly headers: Readonly<Record<string, string | undefined>> },
  {
    secrets,
    gateway,
    now,
    ownerOf,
  }: {
    readonly secrets: readonly string[];
    readonly gateway: string;
    readonly now: Clock;
    readonly ownerOf: (processorReference: string) => Promise<PaymentOwner>;
  },
): Promise<ChargeEvent | PaymentEvent | undefined> {
  const signature = headers['stripe-signature'] ?? '';
  for (const secret of secrets) {
    if (!(await isSigned(body, signature, secret, now()))) continue;
    const parsed = eventSchema.safeParse(jsonOf(body));
    if (!parsed.success) return undefined;
    const { object } = parsed.data.data;
    const owner = object.object === 'checkout.session' ? object.metadata : await ownerOf(object.payment_intent);
    const { elicitationId } = owner;
    // Stripe sends every webhook to all gateways on the account, and each gateway knows only its own payments.
    if (owner.gateway !== undefined && owner.gateway !== gateway) return undefined;
    if (elicitationId === undefined) return undefined;
    const named = { elicitationId, namesGateway: owner.gateway !== undefined };
    if (object.object === 'checkout.session') return { reference: object.id, ...named };
    const about = object.object === 'dispute' ? 'disputes' : 'refunds';
    return { about, processorReference: object.payment_intent, ...named };
  }
  throw new ProcessorError('signature_invalid');
}

/** Treats every error of the library as an invalid signature: the header is untrusted input. */
async function isSigned(body: Uint8Array, signature: string, secret: string, at: number): Promise<boolean> {
  try {
    return (
      (await Stripe.webhooks.signature?.verifyHeaderAsync(body, signature, secret, TOLERANCE, undefined, at)) === true
    );
  } catch {
    return false;
  }
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
