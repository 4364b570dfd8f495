/** The policy of webhooks: how a response is classified, when to retry, and when to disable an endpoint. Pure. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses after the first, second, … failed attempt, before jitter. Together a little over 72 hours. */
const pauses = [
  5 * SECOND,
  30 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  18 * HOUR,
  23 * HOUR,
] as const;

/**
 * Longest `Retry-After` that the gateway honours.
 * @internal exported for tests
 */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;

/** Maximum share by which jitter lengthens a pause, so deliveries that failed together are not retried together. */
const JITTER = 0.15;

/** Maximum number of attempts of one delivery, including the first. */
export const DELIVERY_ATTEMPTS = pauses.length + 1;

/**
 * Returns the delay after a failed attempt, in milliseconds, or undefined after the last attempt.
 * @param attempt 1 for the first
 * @param p.random random number from 0 to 1
 * @param p.retryAfterMs `Retry-After` of the receiver: may lengthen the planned delay, never shortens it
 */
export function retryDelayMs(
  attempt: number,
  p: { readonly random: number; readonly retryAfterMs?: number | undefined },
): number | undefined {
  const pause = pauses[attempt - 1];
  if (pause === undefined) return undefined;
  const asked = Math.min(p.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.round(Math.max(pause, asked) * (1 + JITTER * p.random));
}

/** Why an attempt has no valid response. */
export type NoAnswer = 'blocked' | 'redirect' | 'timeout' | 'unreachable';

/** The result of one attempt: an HTTP response, or a failure. */
export type DeliveryAnswer =
  | { readonly status: number; readonly retryAfter?: string | undefined }
  | { readonly failure: NoAnswer };

export type DeliveryOutcome =
  | { readonly result: 'delivered' }
  /** The receiver wants no further deliveries, so the endpoint is disabled. */
  | { readonly result: 'gone'; readonly reason: 'status_410' }
  | {
      readonly result: 'failed';
      /** From a closed set, so it can be stored, listed and counted. */
      readonly reason: NoAnswer | `status_${number}`;
      /** The wait that the receiver requested from all replicas, in milliseconds from now. */
      readonly retryAfterMs?: number;
    };

/**
 * Classifies a response by Standard Webhooks, "Deliverability and reliability": 2xx is success, 410 disables the endpoint,
 * 429 and 503 slow deliveries down. Anything else fails, also a redirect, because a payload is signed for one URL only.
 * @param now milliseconds since the epoch, to evaluate a `Retry-After` date
 */
export function deliveryOutcome(answer: DeliveryAnswer, now: number): DeliveryOutcome {
  if ('failure' in answer) return { result: 'failed', reason: answer.failure };
  const { status } = answer;
  if (status >= 200 && status < 300) return { result: 'delivered' };
  if (status === 410) return { result: 'gone', reason: 'status_410' };
  const reason = `status_${status}` as const;
  const retryAfterMs = status === 429 || status === 503 ? parseRetryAfter(answer.retryAfter, now) : undefined;
  return { result: 'failed', reason, retryAfterMs };
}

/** Parses seconds or an HTTP date (RFC 9110 section 10.2.3); otherwise undefined. Never negative, at most a day. */
function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined || value.length > 64) return undefined;
  const text = value.trim();
  // IMF-fixdate only, because Date.parse accepts almost any text.
  const isDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text);
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : isDate ? Date.parse(text) - now : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** An endpoint is disabled after failing for this long, which is as long as the retries of one delivery last. */
const FAILING_LIMIT_MS = 72 * 3_600_000;

/** @param failingSince time of the first failure after the last success; undefined while there is none */
export function isToBeDisabled(failingSince: number | undefined, now: number): boolean {
  return failingSince !== undefined && now - failingSince >= FAILING_LIMIT_MS;
}
