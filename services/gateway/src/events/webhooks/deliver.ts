import { OutboundError, type OutboundErrorCode, type OutboundFetch } from '@postern/authorization';
import type { ElicitationStore } from '@postern/elicitation';
import type { DeliveryAnswer, NoAnswer } from './delivery-policy.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';
import { type WebhookEvent, webhookRequest } from './webhook-request.ts';

/** Standard Webhooks asks for 15 to 30 seconds. */
export const DELIVERY_TIMEOUT_MS = 15_000;
/** Maximum size of a response body, which is discarded. */
export const DISCARDED_BYTES = 64 * 1024;

const failures: Record<OutboundErrorCode, NoAnswer> = {
  outbound_blocked: 'blocked',
  outbound_redirect: 'redirect',
  outbound_timeout: 'timeout',
  outbound_too_large: 'unreachable',
  outbound_unreachable: 'unreachable',
};

/** Sends one attempt of a delivery. */
export type Attempt = (event: WebhookEvent, signal: AbortSignal) => Promise<DeliveryAnswer>;

/** An attempt with the values for its trace. */
export interface ObservedDelivery {
  readonly elicitations: Pick<ElicitationStore, 'read'>;
  readonly endpoint: string;
  readonly attempt: Attempt;
}

/** Sends one attempt, signed with the currently configured keys. */
export async function deliver(
  p: { readonly endpoint: WebhookEndpoint; readonly event: WebhookEvent; readonly signal: AbortSignal },
  deps: { readonly fetch: OutboundFetch; readonly now: () => number; readonly onDate: (date: string | null) => void },
): Promise<DeliveryAnswer> {
  const { headers, body } = webhookRequest(p.event, p.endpoint.signers, deps.now());
  try {
    const response = await deps.fetch(p.endpoint.url, {
      method: 'POST',
      headers: { ...headers },
      body,
      signal: p.signal,
      discardBody: true,
    });
    deps.onDate(response.headers.get('date'));
    return { status: response.status, retryAfter: response.headers.get('retry-after') ?? undefined };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { failure: failures[error.code] };
  }
}

/** Below the five minutes after which receivers refuse a timestamp (Standard Webhooks). */
const TOLERATED_MS = 120_000;
const REPORT_INTERVAL_MS = 3_600_000;

/**
 * Compares the clock of this machine with the `Date` header of receivers (RFC 9110 section 6.6.1). A wrong clock makes every
 * signature look old or early. Reports a difference at most once an hour.
 */
export function createClockWatch(p: {
  readonly now: () => number;
  readonly onSkew: (skewSeconds: number) => void;
}): (date: string | null) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return date => {
    const now = p.now();
    const skew = now - Date.parse(date ?? '');
    if (!(Math.abs(skew) > TOLERATED_MS) || now < quietUntil) return;
    quietUntil = now + REPORT_INTERVAL_MS;
    p.onSkew(Math.round(skew / 1000));
  };
}
