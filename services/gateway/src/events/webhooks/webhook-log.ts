import type { Logger } from '../../platform/logger.ts';

/** Log lines of webhooks that are no audit events. They name endpoints, never URLs, and contain nothing of requests or responses. */
export function createWebhookLog(logger: Logger) {
  return {
    /** An attempt failed and will be retried. */
    postponed: (p: { endpoint: string; eventId: string; reason: string; attempt: number; delayMs: number }) =>
      logger.info({ event: 'webhook.postponed', ...p }, 'webhook not delivered; retrying'),
    full: (p: { endpoint: string; waiting: number }) =>
      logger.warn({ event: 'webhook.queue_full', ...p }, 'webhook queue full; events stay in the feed'),
    /** Receivers will refuse signatures as too old or too early. Positive if the clock of this machine is ahead. */
    clockSkew: (p: { endpoint: string; skewSeconds: number }) =>
      logger.warn({ event: 'webhook.clock_skew', ...p }, 'the clock of this machine differs from that of a receiver'),
    failed: (p: { endpoint: string; error: unknown }) =>
      logger.warn({ event: 'webhook.error', ...p }, 'webhook step failed; retrying'),
  };
}

export type WebhookLog = ReturnType<typeof createWebhookLog>;
