import type { OutboundFetch } from '@postern/authorization';
import type { Stores } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import type { Logger } from '../../platform/logger.ts';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { type Network, offered } from '../../platform/store/network.ts';
import type { Attempt, ObservedDelivery } from './deliver.ts';
import { mcpServerEndpointsOf, operatorEndpointsOf } from './webhook-endpoint.ts';
import type { Webhooks } from './webhooks.ts';

export interface DeliveryDeps {
  readonly stores: Stores;
  readonly logger: Logger;
  readonly now: () => number;
  readonly observe: {
    fetch(fetch: OutboundFetch, target: 'webhook'): OutboundFetch;
    delivery(p: ObservedDelivery): Attempt;
  };
  readonly auditLog: AuditLog;
  readonly network: Network | undefined;
  readonly queueRedis: () => QueueRedis;
}

export const hasWebhooks = (config: GatewayConfig): boolean =>
  mcpServerEndpointsOf(config).length + operatorEndpointsOf(config).length > 0;

/** @throws StartError if BullMQ is not installed */
export const loadWebhooks = () => withOptionalPackages('Webhooks', () => import('./webhooks.ts'));

/**
 * Opens the webhooks of a configuration. Without configured receivers there are none, and BullMQ is not loaded.
 * @throws StartError, StoreUnavailableError
 */
export async function openDeliveries(
  deps: DeliveryDeps,
  config: GatewayConfig,
  {
    before,
    sweepPauseMs,
  }: { readonly before?: GatewayConfig | undefined; readonly sweepPauseMs?: number | undefined } = {},
): Promise<Webhooks | undefined> {
  if (!hasWebhooks(config)) return undefined;
  const { stores, logger, now, observe, auditLog } = deps;
  const network = offered(deps.network);
  const { openWebhooks } = await loadWebhooks();
  return openWebhooks({
    config,
    before,
    stores: { ...network, leases: stores.leases },
    feed: stores.feeds,
    redis: deps.queueRedis(),
    logger,
    now,
    auditLog,
    pace: { announcerPauseMs: sweepPauseMs },
    wrapFetch: fetch => observe.fetch(fetch, 'webhook'),
    wrapAttempt: (endpoint, attempt) => observe.delivery({ elicitations: stores.elicitations, endpoint, attempt }),
  });
}
