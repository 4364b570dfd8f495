import type { OutboundFetch } from '@postern/authorization';
import type { Stores } from '@postern/elicitation';
import type { AuditLog } from '../../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics/create-metrics.ts';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { type Network, offered } from '../../platform/store/network.ts';
import type { Attempt, ObservedDelivery } from './deliver.ts';
import { mcpServerEndpointsOf, operatorEndpointsOf } from './webhook-endpoint.ts';
import type { Webhooks } from './webhooks.ts';

export interface DeliveryDeps {
  readonly stores: Stores;
  readonly logger: Logger;
  readonly now: () => number;
  readonly metrics: Metrics | undefined;
  readonly observe: {
    fetch(fetch: OutboundFetch, target: 'webhook'): OutboundFetch;
    delivery(p: ObservedDelivery): Attempt;
  };
  readonly auditLog: AuditLog;
  readonly network: Network | undefined;
}

export const hasWebhooks = (config: GatewayConfig): boolean =>
  mcpServerEndpointsOf(config).length + operatorEndpointsOf(config).length > 0;

/** @throws StartError if BullMQ is not installed */
export const loadWebhooks = () => withOptionalPackages('Webhooks', () => import('./webhooks.ts'));

/** The webhooks of the process. Without configured receivers it opens no connection and does not load BullMQ. */
export type Deliveries = Pick<Webhooks, 'prepare' | 'apply' | 'stop'>;

export async function startDeliveries(
  deps: DeliveryDeps,
  config: GatewayConfig,
  sweepPauseMs?: number,
): Promise<Deliveries> {
  const { stores, logger, now, metrics, observe, auditLog } = deps;
  let webhooks: Webhooks | undefined;

  async function start(first: GatewayConfig): Promise<Webhooks | undefined> {
    if (!hasWebhooks(first)) return undefined;
    const network = offered(deps.network);
    const { startWebhooks } = await loadWebhooks();
    const started = await startWebhooks({
      config: first,
      stores: { ...network, leases: stores.leases },
      feed: stores.feeds,
      redis: network.openQueueRedis(),
      logger,
      now,
      auditLog,
      pace: { announcerPauseMs: sweepPauseMs },
      wrapFetch: fetch => observe.fetch(fetch, 'webhook'),
      wrapAttempt: (endpoint, attempt) => observe.delivery({ elicitations: stores.elicitations, endpoint, attempt }),
    });
    metrics?.watchDeliveries(() => started.deliveries());
    return started;
  }

  webhooks = await start(config);
  return {
    async prepare(next) {
      if (webhooks !== undefined) return webhooks.prepare(next);
      // Nothing runs yet that a start could interrupt.
      webhooks = await start(next);
    },
    apply: async next => webhooks?.apply(next),
    stop: async () => webhooks?.stop(),
  };
}
