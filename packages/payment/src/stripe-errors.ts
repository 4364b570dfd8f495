import { Stripe } from 'stripe';
import { ProcessorError, type ProcessorErrorDetails } from './processor.ts';

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
