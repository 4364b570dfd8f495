import type { DisabledReason } from '@postern/store-redis';
import { type AuditSink, auditTrail } from '../events.ts';
import type { Logger } from '../logger.ts';

/** What is written down about webhooks: endpoints by name, never by URL, and nothing of what was sent or answered. */
export function createWebhookEvents(logger: Logger, sinks: readonly AuditSink[] = []) {
  const audit = auditTrail(logger, sinks);
  return {
    /** One attempt failed; there are more. */
    postponed: (p: { endpoint: string; eventId: string; reason: string; attempt: number; delayMs: number }) =>
      logger.info({ event: 'webhook.postponed', ...p }, 'a webhook was not delivered, will be tried again'),
    dead: (p: { endpoint: string; eventId: string; reason: string }) =>
      audit.error({ event: 'webhook.dead', ...p }, 'a webhook was not delivered and will not be tried again'),
    disabled: (p: { endpoint: string; reason: DisabledReason }) =>
      audit.error({ event: 'webhook.disabled', ...p }, 'a webhook endpoint is disabled until an operator enables it'),
    enabled: (p: { endpoint: string }) =>
      audit.info({ event: 'webhook.enabled', ...p }, 'a webhook endpoint is enabled'),
    /** The feed had dropped events before they were queued: the endpoint was disabled or its queue was full for too long. */
    gap: (p: { endpoint: string }) =>
      audit.error({ event: 'webhook.gap', ...p }, 'events were dropped before they were queued for an endpoint'),
    full: (p: { endpoint: string; waiting: number }) =>
      logger.warn(
        { event: 'webhook.queue_full', ...p },
        'nothing more is queued for an endpoint until it has caught up',
      ),
    /** Receivers will refuse signatures as too old or too early. Positive: our clock is ahead. */
    clockSkew: (p: { endpoint: string; skewSeconds: number }) =>
      logger.warn({ event: 'webhook.clock_skew', ...p }, 'the clock of this machine differs from that of a receiver'),
    trouble: (p: { endpoint: string; error: unknown }) =>
      logger.warn({ event: 'webhook.error', ...p }, 'webhooks: something failed, will be tried again'),
  };
}

export type WebhookEvents = ReturnType<typeof createWebhookEvents>;
