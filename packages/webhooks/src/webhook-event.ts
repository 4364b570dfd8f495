import type { ElicitationStatus, Kind } from '@postern/elicitation';

/** What a receiver is told. No person, no message, no outcome: nothing here is a secret. */
export interface WebhookEvent {
  /** Stable over all attempts and repeats; becomes `webhook-id`. */
  readonly eventId: string;
  readonly elicitationId: string;
  readonly mcpServerId: string;
  readonly kind: Kind;
  readonly status: ElicitationStatus;
  /** When it was committed, in milliseconds since the epoch. */
  readonly occurredAt: number;
}
