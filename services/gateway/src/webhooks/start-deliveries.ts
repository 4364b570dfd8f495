import type { GatewayDeps } from '../deps.ts';
import type { Webhooks } from './webhooks.ts';

/** Begins to tell the configured receivers. Where there are none, neither a connection nor BullMQ is loaded. */
export async function startDeliveries(deps: GatewayDeps): Promise<readonly Webhooks[]> {
  const { config, stores, logger, now, metrics, observe, auditSinks } = deps;
  if (config.mcpServers.every(({ webhooks }) => webhooks.length === 0)) return [];
  const { startWebhooks } = await import('./webhooks.ts');
  const webhooks = await startWebhooks({
    config,
    stores,
    feed: stores.feeds,
    redis: deps.openQueueRedis(),
    logger,
    now,
    auditSinks,
    around: fetch => observe.fetch(fetch, 'webhook'),
    aroundAttempt: (endpoint, attempt) => observe.delivery({ elicitations: stores.elicitations, endpoint, attempt }),
  });
  metrics?.watchDeliveries(() => webhooks.deliveries());
  return [webhooks];
}
