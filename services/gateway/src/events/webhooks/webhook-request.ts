import type { WebhookEventBody } from '@postern/api';
import type {
  ElicitationEvent,
  ElicitationStatus,
  Kind,
  PasskeyAnnouncement,
  PaymentEventType,
} from '@postern/elicitation';
import type { WebhookSigner } from '../../platform/config/webhook-signer.ts';

/** The payload for the receiver of an MCP server. Contains no user, message or outcome, so nothing here is secret. */
export interface ElicitationWebhookEvent {
  /** The same in all attempts; sent as `webhook-id`. */
  readonly eventId: string;
  readonly elicitationId: string;
  readonly mcpServerId: string;
  readonly kind: Kind;
  /** The new status of the elicitation, or what has happened to its payment. */
  readonly status: ElicitationStatus | PaymentEventType;
  /** Commit time, in milliseconds since the epoch. */
  readonly occurredAt: number;
}

/** A webhook payload, for the receiver of an MCP server or of the operator. */
export type WebhookEvent = ElicitationWebhookEvent | PasskeyAnnouncement;

/** Returns the public event type. */
export function typeOf(event: WebhookEvent): string {
  return 'pseudonym' in event ? event.type : typeNamed(event.status);
}

const isOfPayment = (status: ElicitationWebhookEvent['status']): status is PaymentEventType =>
  status.startsWith('payment.');

const typeNamed = (status: ElicitationWebhookEvent['status']): ElicitationEvent['type'] =>
  isOfPayment(status) ? status : `elicitation.${status}`;

/** One attempt of a delivery, ready to POST. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Builds the request for an event. The id and the body are the same in every attempt, so receivers can drop duplicates. Time
 * and signatures belong to this attempt (Standard Webhooks, "Webhook headers (sending metadata to consumers)").
 * @param signers the current signer and, during a rotation, the previous one; each adds a signature
 * @param now milliseconds since the epoch
 */
export function webhookRequest(event: WebhookEvent, signers: readonly WebhookSigner[], now: number): WebhookRequest {
  if (signers.length === 0) throw new TypeError('A webhook needs at least one signer.');
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

/** Builds the thin payload: event, elicitation or pseudonym, status. Receivers read the rest through the API. */
function webhookBody(event: WebhookEvent): string {
  const timestamp = new Date(event.occurredAt).toISOString();
  if ('pseudonym' in event)
    return JSON.stringify({
      type: event.type,
      timestamp,
      data: { eventId: event.eventId, pseudonym: event.pseudonym },
    });
  const { eventId, elicitationId, mcpServerId, kind, status } = event;
  const body: WebhookEventBody = {
    type: typeNamed(status),
    timestamp,
    data: { eventId, elicitationId, kind, ...(isOfPayment(status) ? {} : { status }), mcpServerId },
  };
  return JSON.stringify(body);
}
