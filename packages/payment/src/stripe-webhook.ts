import type { Clock } from '@postern/elicitation';
import { Stripe } from 'stripe';
import { z } from 'zod';
import { type ChargeEvent, ProcessorError } from './processor.ts';

/** Maximum age of a signature, in seconds. Stripe signs every delivery again. */
const TOLERANCE = 300;

/** Events that the webhook endpoint must receive. */
export const webhookTypes = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
] as const;

/** Only the id of the session. Its status is read from Stripe. */
const eventSchema = z.object({
  type: z.enum(webhookTypes),
  data: z.object({
    object: z.object({
      id: z.string().min(1).max(255),
      object: z.literal('checkout.session'),
      metadata: z.object({ elicitationId: z.string().min(1).max(128), gateway: z.string().optional() }),
    }),
  }),
});

/**
 * Verifies a webhook of Stripe and returns the charge that it is about. Stripe repeats webhooks; handling them once is up to the caller.
 * @returns undefined for other events, and for sessions of other gateways
 * @throws ProcessorError `signature_invalid`
 */
export async function readWebhook(
  { body, headers }: { readonly body: Uint8Array; readonly headers: Readonly<Record<string, string | undefined>> },
  { secrets, gateway, now }: { readonly secrets: readonly string[]; readonly gateway: string; readonly now: Clock },
): Promise<ChargeEvent | undefined> {
  const signature = headers['stripe-signature'] ?? '';
  for (const secret of secrets) {
    if (!(await isSigned(body, signature, secret, now()))) continue;
    const parsed = eventSchema.safeParse(jsonOf(body));
    if (!parsed.success) return undefined;
    const { id, metadata } = parsed.data.data.object;
    // Stripe sends every webhook to all gateways on the account, and each gateway knows only its own sessions.
    if (metadata.gateway !== undefined && metadata.gateway !== gateway) return undefined;
    return { reference: id, elicitationId: metadata.elicitationId, namesGateway: metadata.gateway !== undefined };
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
