import type { WebhookSigner } from './signer.ts';
import type { WebhookEvent } from './webhook-event.ts';

/** One attempt at a delivery, ready to be sent with POST. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The request for an event. The id and the body are the same in every attempt, so that a receiver can drop what it has seen;
 * time and signatures are of this attempt (Standard Webhooks, "Webhook headers (sending metadata to consumers)").
 * @param signers the current one and, while secrets are exchanged, the one before; each adds a signature
 * @param now milliseconds since the epoch
 */
export function webhookRequest(event: WebhookEvent, signers: readonly WebhookSigner[], now: number): WebhookRequest {
  if (signers.length === 0) throw new TypeError('A webhook is never sent unsigned.');
  const body = webhookBody(event);
  const timestamp = Math.floor(now / 1000);
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Postern-Webhooks/1',
      'webhook-id': event.eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signers.map(signer => signer.sign({ webhookId: event.eventId, timestamp, body })).join(' '),
    },
    body,
  };
}

/** Thin: what happened to which elicitation. Whoever wants to know more asks the API, which is the truth anyway. */
function webhookBody({ eventId, elicitationId, mcpServerId, kind, status, occurredAt }: WebhookEvent): string {
  return JSON.stringify({
    type: `elicitation.${status}`,
    timestamp: new Date(occurredAt).toISOString(),
    data: { eventId, elicitationId, kind, status, mcpServerId },
  });
}
