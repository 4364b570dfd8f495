import { OutboundError, type OutboundErrorCode, type OutboundFetch } from '@postern/authorization';
import { type DeliveryAnswer, type NoAnswer, type WebhookEvent, webhookRequest } from '@postern/webhooks';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

/** Standard Webhooks asks for 15 to 30 seconds. */
export const DELIVERY_TIMEOUT_MS = 15_000;
/** What a receiver says beside its status is of no interest. */
export const DISCARDED_BYTES = 64 * 1024;

const failures: Record<OutboundErrorCode, NoAnswer> = {
  outbound_blocked: 'blocked',
  outbound_redirect: 'redirect',
  outbound_timeout: 'timeout',
  outbound_too_large: 'unreachable',
  outbound_unreachable: 'unreachable',
};

/** One attempt to tell a receiver. Whatever is put around it answers as it does. */
export type Attempt = (event: WebhookEvent, signal: AbortSignal) => Promise<DeliveryAnswer>;

/** One attempt, signed with the keys that are configured now. */
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
