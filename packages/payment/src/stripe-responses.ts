import type { PaymentMode } from '@postern/elicitation';
import { Stripe } from 'stripe';
import { z } from 'zod';
import { type ChargeStatus, ProcessorError, type ProcessorErrorDetails, type ProcessorFetch } from './processor.ts';
import { fromStripeAmount } from './stripe-amounts.ts';

/** Identifiers are stored, logged and used in paths, so length and characters are restricted. */
export const stripeId = z.string().regex(/^[A-Za-z0-9_]{1,255}$/);

/** The members of a Checkout Session that the gateway reads. Strings instead of enums, because Stripe adds values. */
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
 * @param reference the requested id, if any
 * @throws ProcessorError `unavailable` for any other response, such as another session or an error page of a proxy
 */
export function parseSession(response: unknown, reference?: string): CheckoutSession {
  const parsed = sessionSchema.safeParse(response);
  if (!parsed.success || (reference ?? parsed.data.id) !== parsed.data.id) throw unreadableResponse();
  return parsed.data;
}

/** The response does not show whether the request had an effect. */
export const unreadableResponse = () => new ProcessorError('unavailable', { processorCode: 'invalid_answer' });

/** Whether only the PaymentIntent shows if the payment is still settling: the user has finished, and nothing was paid. */
export function needsPaymentIntent({ status, payment_status }: CheckoutSession): boolean {
  return status === 'complete' && payment_status === 'unpaid';
}

/**
 * Returns the status of a charge. If {@link needsPaymentIntent}, the session must include its PaymentIntent.
 * @throws ProcessorError `unavailable` for an unknown status
 */
export function chargeStatusOf(session: CheckoutSession): ChargeStatus {
  if (session.payment_status === 'paid') return paid(session);
  switch (session.status) {
    case 'open':
      return { state: 'open' };
    case 'expired':
      return { state: 'closed' };
    case 'complete':
      return statusAfterCompletion(session);
    default:
      throw new ProcessorError('unavailable', { processorCode: 'unknown_status' });
  }
}

/** Mode according to Stripe's response. The prefix of the secret key proves nothing. */
export const modeOf = ({ livemode }: Pick<CheckoutSession, 'livemode'>): PaymentMode => (livemode ? 'live' : 'test');

function paid({ id, amount_total, currency, payment_intent, livemode }: CheckoutSession): ChargeStatus {
  const amount = amount_total === null || currency === null ? undefined : fromStripeAmount(amount_total, currency);
  // Paid, but with an unreadable amount: it must not count as unpaid.
  if (amount === undefined) throw new ProcessorError('unavailable', { processorCode: 'unreadable_amount' });
  const paymentIntentId = typeof payment_intent === 'string' ? payment_intent : payment_intent?.id;
  return { state: 'paid', processorReference: paymentIntentId ?? id, amount, mode: modeOf({ livemode }) };
}

/** Payment methods that settle later leave the session complete and unpaid until they succeed, or for good if they fail. */
function statusAfterCompletion({ payment_status, payment_intent }: CheckoutSession): ChargeStatus {
  // Nothing was due, and a complete session takes no further payment.
  if (payment_status === 'no_payment_required') return { state: 'closed' };
  const status = typeof payment_intent === 'object' ? payment_intent?.status : undefined;
  return status === 'requires_payment_method' || status === 'canceled' ? { state: 'closed' } : { state: 'processing' };
}

/** Maximum size of a response, in bytes after decompression. A Checkout Session has a few kilobytes. */
const MAX_BYTES = 1024 * 1024;

/** Response headers that are kept. The library prints `stripe-notice` as a process warning. */
const keptHeaders = ['request-id', 'idempotent-replayed'];

/** A response is an API object or an error with a type. Proxies return errors of other shapes. */
const successSchema = z.looseObject({ error: z.never().optional() });
const failureSchema = z.looseObject({ error: z.looseObject({ type: z.string().min(1) }) });

/**
 * Wraps `fetch` for the Stripe library. It passes on only responses that the library can process: a JSON object of limited size, with an
 * `error` exactly if the status is an error. For a JSON string, number or boolean the library throws outside its promise chain, which would
 * end the process.
 *
 * @throws ProcessorError `unavailable` for every other response, because it does not show whether the request had an effect
 */
export function stripeFetch(processorFetch: ProcessorFetch): typeof fetch {
  return async (input, { method = 'GET', headers, body, signal } = {}) => {
    const response = await processorFetch(input instanceof Request ? input.url : input, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
    });
    const text = await textOf(response);
    if (!isApiResponse(response.status, jsonOf(text))) throw unreadableResponse();
    const kept = keptHeaders.flatMap(name => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as [string, string]];
    });
    return new Response(text, { status: response.status, headers: kept });
  };
}

function isApiResponse(status: number, value: unknown): boolean {
  if (status === 200) return successSchema.safeParse(value).success;
  return status >= 400 && failureSchema.safeParse(value).success;
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Throwing inside the loop cancels the stream.
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw unreadableResponse();
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Statuses with which Stripe refuses a request. After all others (409, 424, 429, 5xx) it is unknown whether it had an effect. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 401, 402, 403, 404]);

/**
 * Converts an error of the library while opening a charge. A broken connection, a timeout and an unreadable response are not refusals.
 * Nor is a key that was used with another body, because a session may exist under it.
 */
export function processorErrorOf(error: unknown): ProcessorError {
  const own = ownErrorIn(error);
  if (own !== undefined) return own;
  if (!(error instanceof Stripe.errors.StripeError)) return new ProcessorError('unavailable');
  const isRefusal =
    refusals.has(error.statusCode) &&
    !(error instanceof Stripe.errors.StripeRateLimitError) &&
    !(error instanceof Stripe.errors.StripeIdempotencyError);
  return new ProcessorError(isRefusal ? 'refused' : 'unavailable', detailsOf(error));
}

/** Statuses after which a refund will never be made. A wrong or restricted key says nothing about the refund. */
const refusedRefunds: ReadonlySet<number | undefined> = new Set([400, 402]);

/** Converts an error of the library while making a refund. */
export function refundErrorOf(error: unknown): ProcessorError {
  const converted = processorErrorOf(error);
  if (converted.code !== 'refused' || refusedRefunds.has(converted.processorStatus)) return converted;
  return new ProcessorError('unavailable', converted.details);
}

/** Finds our own error. The library wraps errors of `fetch` in a connection error. */
function ownErrorIn(error: unknown): ProcessorError | undefined {
  const detail = error instanceof Stripe.errors.StripeConnectionError ? error.detail : error;
  return detail instanceof ProcessorError ? detail : undefined;
}

/** Converts an error of status and close. A refusal there says nothing about the charge: another key or account cannot see it. */
export function unavailableOf(error: unknown): ProcessorError {
  const own = ownErrorIn(error);
  if (own?.code === 'unavailable') return own;
  return new ProcessorError('unavailable', error instanceof Stripe.errors.StripeError ? detailsOf(error) : {});
}

/**
 * Whether Stripe repeats a stored failure of its own. It stores the result of a request under a key, including a 5xx, and repeats it as
 * long as the key lives.
 * @see https://docs.stripe.com/api/idempotent_requests
 */
export function isReplayedFailure(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeError &&
    (error.statusCode ?? 0) >= 500 &&
    error.headers?.['idempotent-replayed'] === 'true'
  );
}

/** Identifiers only: Stripe's messages quote the key. */
export function detailsOf(error: Stripe.errors.StripeError): ProcessorErrorDetails {
  const name = error.code ?? error.rawType ?? '';
  const requestId = error.requestId ?? '';
  return {
    ...(/^[a-z][a-z0-9_]{0,63}$/.test(name) && { processorCode: name }),
    ...(typeof error.statusCode === 'number' && { processorStatus: error.statusCode }),
    ...(/^req_[A-Za-z0-9]{1,64}$/.test(requestId) && { processorRequestId: requestId }),
  };
}
