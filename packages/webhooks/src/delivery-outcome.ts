import { MAX_RETRY_AFTER_MS } from './retry-schedule.ts';

/** Why there was no answer that counts. */
export type NoAnswer = 'blocked' | 'redirect' | 'timeout' | 'unreachable';

/** What came of one attempt: an HTTP answer, or none. */
export type DeliveryAnswer =
  | { readonly status: number; readonly retryAfter?: string | undefined }
  | { readonly failure: NoAnswer };

export type DeliveryOutcome =
  | { readonly result: 'delivered' }
  /** The receiver wants nothing any more: the endpoint is disabled. */
  | { readonly result: 'gone'; readonly reason: 'status_410' }
  | {
      readonly result: 'failed';
      /** From a closed set, so that it can be stored, listed and counted. */
      readonly reason: NoAnswer | `status_${number}`;
      /** The receiver asked all of us to wait so long, in milliseconds from now. */
      readonly retryAfterMs?: number;
    };

/**
 * Standard Webhooks, "Deliverability and reliability": 2xx is success; 410 ends the endpoint; 429 and 503 slow it down; a redirect
 * is a failure like everything else, because what is signed for one URL is not for another.
 * @param now milliseconds since the epoch, for a `Retry-After` that is a date
 */
export function deliveryOutcome(answer: DeliveryAnswer, now: number): DeliveryOutcome {
  if ('failure' in answer) return { result: 'failed', reason: answer.failure };
  const { status } = answer;
  if (status >= 200 && status < 300) return { result: 'delivered' };
  if (status === 410) return { result: 'gone', reason: 'status_410' };
  const reason = `status_${status}` as const;
  const retryAfterMs = status === 429 || status === 503 ? parseRetryAfter(answer.retryAfter, now) : undefined;
  return { result: 'failed', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** RFC 9110 section 10.2.3: seconds or an HTTP date. Undefined for anything else; never negative, at most a day. */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined || value.length > 64) return undefined;
  const text = value.trim();
  // IMF-fixdate only: Date.parse would take almost anything for a date.
  const isDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text);
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : isDate ? Date.parse(text) - now : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
