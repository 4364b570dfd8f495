import type { DisabledReason } from '@postern/store-redis';
import { type AuditSink, auditTrail } from '../../platform/audit/audit-trail.ts';
import type { Logger } from '../../platform/logger.ts';

/** Log and audit events of webhooks. They name endpoints, never URLs, and contain nothing of requests or responses. */
export function createWebhookEvents(logger: Logger, sinks: readonly AuditSink[] = []) {
  const audit = auditTrail(logger, sinks);
  return {
    /** An attempt failed and will be retried. */
    postponed: (p: { endpoint: string; eventId: string; reason: string; attempt: number; delayMs: number }) =>
      logger.info({ event: 'webhook.postponed', ...p }, 'webhook not delivered; retrying'),
    dead: (p: { endpoint: string; eventId: string; reason: string }) =>
      audit.error({ event: 'webhook.dead', ...p }, 'webhook not delivered; giving up'),
    disabled: (p: { endpoint: string; reason: DisabledReason }) =>
      audit.error({ event: 'webhook.disabled', ...p }, 'webhook endpoint disabled until an operator enables it'),
    enabled: (p: { endpoint: string }) => audit.info({ event: 'webhook.enabled', ...p }, 'webhook endpoint enabled'),
    /** The feed dropped events before they were queued: the endpoint was disabled or its queue was full for too long. */
    gap: (p: { endpoint: string }) =>
      audit.error({ event: 'webhook.gap', ...p }, 'events dropped before they were queued for an endpoint'),
    full: (p: { endpoint: string; waiting: number }) =>
      logger.warn({ event: 'webhook.queue_full', ...p }, 'webhook queue full; events stay in the feed'),
    /** Receivers will refuse signatures as too old or too early. Positive if the clock of this machine is ahead. */
    clockSkew: (p: { endpoint: string; skewSeconds: number }) =>
      logger.warn({ event: 'webhook.clock_skew', ...p }, 'the clock of this machine differs from that of a receiver'),
    failed: (p: { endpoint: string; error: unknown }) =>
      logger.warn({ event: 'webhook.error', ...p }, 'webhook step failed; retrying'),
  };
}

export type WebhookEvents = ReturnType<typeof createWebhookEvents>;
