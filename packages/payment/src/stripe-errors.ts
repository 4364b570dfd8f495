import { Stripe } from 'stripe';
import { ProcessorError, type ProcessorErrorDetails } from './processor.ts';

/** Statuses with which Stripe says no by its own word. All others leave open whether there was an effect: 409, 424, 429, 5xx. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 401, 402, 403, 404]);

/**
 * What an error of the library means for a charge that was to be opened. A broken connection, a time limit and an answer that
 * cannot be read are no refusal. Nor is a key that was used with another body: a session may well exist under it.
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

/** Our error, by itself or as the detail of the connection error in which the library wraps what its fetch throws. */
function ownErrorIn(error: unknown): ProcessorError | undefined {
  const detail = error instanceof Stripe.errors.StripeConnectionError ? error.detail : error;
  return detail instanceof ProcessorError ? detail : undefined;
}

/** For status and close, where a refusal says nothing about the charge: an exchanged key or account cannot see it, say. */
export function unavailableOf(error: unknown): ProcessorError {
  const own = ownErrorIn(error);
  if (own?.code === 'unavailable') return own;
  return new ProcessorError('unavailable', error instanceof Stripe.errors.StripeError ? detailsOf(error) : {});
}

/**
 * Whether Stripe repeats a failure of its own. It stores whatever a request under a key has led to once it was begun, a 5xx too,
 * and answers so for as long as the key lives.
 * @see https://docs.stripe.com/api/idempotent_requests
 */
export function isReplayedFailure(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeError &&
    (error.statusCode ?? 0) >= 500 &&
    error.headers?.['idempotent-replayed'] === 'true'
  );
}

/** Names only, never Stripe's sentences: they quote the key. */
function detailsOf(error: Stripe.errors.StripeError): ProcessorErrorDetails {
  const name = error.code ?? error.rawType ?? '';
  const requestId = error.requestId ?? '';
  return {
    ...(/^[a-z][a-z0-9_]{0,63}$/.test(name) && { processorCode: name }),
    ...(typeof error.statusCode === 'number' && { processorStatus: error.statusCode }),
    ...(/^req_[A-Za-z0-9]{1,64}$/.test(requestId) && { processorRequestId: requestId }),
  };
}
