import type { Clock } from '@postern/elicitation';
import { Stripe } from 'stripe';
import { z } from 'zod';
import { type ChargeEvent, ProcessorError } from './processor.ts';

/** Seconds. Older deliveries are refused; Stripe signs every delivery anew. */
const TOLERANCE = 300;

const types = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
] as const;

/** Which session it is about, and nothing else: what has become of it is asked. */
const eventSchema = z.object({
  type: z.enum(types),
  data: z.object({
    object: z.object({
      id: z.string().min(1).max(255),
      object: z.literal('checkout.session'),
      metadata: z.object({ elicitationId: z.string().min(1).max(128), gateway: z.string().optional() }),
    }),
  }),
});

/**
 * @returns undefined for events and sessions that are none of ours
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
    // Stripe sends every webhook to every gateway on the account. Each gateway has records of its own sessions only.
    if (metadata.gateway !== undefined && metadata.gateway !== gateway) return undefined;
    return { reference: id, elicitationId: metadata.elicitationId, namesGateway: metadata.gateway !== undefined };
  }
  throw new ProcessorError('signature_invalid');
}

/** Whatever the library makes of a header that anybody may have written, it is no signature. */
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
