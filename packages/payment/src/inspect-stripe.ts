import { Stripe } from 'stripe';
import { z } from 'zod';
import type { ProcessorInspection, ProcessorOptions } from './processor.ts';
import type { StripeConfig } from './processor-config.ts';
import { createStripe } from './stripe-processor.ts';
import { unavailableOf } from './stripe-responses.ts';
import { webhookTypes } from './stripe-webhook.ts';

/** Ids that no object has. Stripe checks the permission before it looks for the object. */
const NO_SESSION = 'cs_test_posternCheckOfTheKey';
const NO_INTENT = 'pi_posternCheckOfTheKey';
/** Stripe allows 16 webhook endpoints per account and mode. */
const ALL_ENDPOINTS = 100;

const endpointsSchema = z.object({
  data: z.array(z.object({ url: z.string(), status: z.string(), enabled_events: z.array(z.string()) })),
});
type Endpoints = z.infer<typeof endpointsSchema>['data'];

type Answer<T> = { readonly is: 'answered'; readonly value: T } | { readonly is: 'denied' | 'unknown' | 'refused' };

/** @see inspectProcessor */
export async function inspectStripe(
  config: StripeConfig,
  options: Pick<ProcessorOptions, 'fetch' | 'timeoutMs'> & { readonly webhookUrl: string },
): Promise<ProcessorInspection> {
  const stripe = createStripe(config, options);
  const mode = config.secretKey.includes('_test_') ? 'test' : 'live';
  // Expiring needs the permission to write Checkout Sessions, and changes nothing without a session.
  const session = await answerOf(stripe.checkout.sessions.expire(NO_SESSION, {}, {}));
  if (session.is === 'refused') {
    return { mode, key: 'refused', missingPermissions: [], webhook: 'hidden', missingEvents: [] };
  }
  const missingPermissions = session.is === 'denied' ? ['Checkout Sessions: write'] : [];
  // Like refunds, payments that settle later need the PaymentIntent. A refund of a payment that does not exist is none.
  const needed = [
    ['PaymentIntents: read', () => stripe.paymentIntents.retrieve(NO_INTENT)],
    ['Refunds: write', () => stripe.refunds.create({ payment_intent: NO_INTENT })],
    ['Disputes: read', () => stripe.disputes.list({ payment_intent: NO_INTENT, limit: 1 })],
  ] as const;
  for (const [permission, request] of needed)
    if ((await answerOf<unknown>(request())).is === 'denied') missingPermissions.push(permission);
  const listed = await answerOf(stripe.webhookEndpoints.list({ limit: ALL_ENDPOINTS }));
  const endpoints = listed.is === 'answered' ? endpointsSchema.safeParse(listed.value).data?.data : undefined;
  return { mode, key: 'accepted', missingPermissions, ...webhookIn(endpoints, options.webhookUrl) };
}

function webhookIn(
  endpoints: Endpoints | undefined,
  webhookUrl: string,
): Pick<ProcessorInspection, 'webhook' | 'missingEvents'> {
  if (endpoints === undefined) return { webhook: 'hidden', missingEvents: [] };
  const own = endpoints.filter(({ url }) => url === webhookUrl);
  const enabled = own.find(({ status }) => status === 'enabled');
  if (enabled === undefined) return { webhook: own.length === 0 ? 'missing' : 'disabled', missingEvents: [] };
  const events = enabled.enabled_events;
  const missingEvents = events.includes('*') ? [] : webhookTypes.filter(type => !events.includes(type));
  return { webhook: 'enabled', missingEvents };
}

/** @throws ProcessorError `unavailable` unless Stripe answered about the key or the object */
async function answerOf<T>(request: Promise<T>): Promise<Answer<T>> {
  try {
    return { is: 'answered', value: await request };
  } catch (error) {
    if (error instanceof Stripe.errors.StripeAuthenticationError) return { is: 'refused' };
    if (error instanceof Stripe.errors.StripePermissionError) return { is: 'denied' };
    if (error instanceof Stripe.errors.StripeInvalidRequestError) return { is: 'unknown' };
    throw unavailableOf(error);
  }
}
