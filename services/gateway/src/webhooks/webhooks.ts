import { randomInt } from 'node:crypto';
import { createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import type { EventFeed } from '@postern/elicitation';
import { isDataLost, type QueueRedis } from '@postern/store-redis';
import type { GatewayConfig } from '../config/config-schema.ts';
import { configuredHosts } from '../config/configured-hosts.ts';
import type { AuditSink } from '../events.ts';
import type { Logger } from '../logger.ts';
import { outboundPolicyOf } from '../outbound/outbound-policy-of.ts';
import { createClockWatch } from './clock-watch.ts';
import { type Attempt, DELIVERY_TIMEOUT_MS, DISCARDED_BYTES, deliver } from './deliver.ts';
import { openDeliveryQueue, type QueueCounts } from './delivery-queue.ts';
import { type DeliveryWorkerOptions, startDeliveryWorker } from './delivery-worker.ts';
import { beginAtNewest, type DispatcherOptions, startDispatcher } from './dispatcher.ts';
import { type WebhookEndpoint, webhookEndpointsOf } from './webhook-endpoint.ts';
import { createWebhookEvents } from './webhook-events.ts';

export interface WebhooksOptions {
  readonly config: GatewayConfig;
  readonly feed: EventFeed;
  readonly stores: {
    readonly webhookEndpoints: DispatcherOptions['records'] & DeliveryWorkerOptions['health'];
    readonly leases: DispatcherOptions['leases'];
  };
  /** Closed with the webhooks. */
  readonly redis: QueueRedis;
  readonly logger: Logger;
  readonly now: () => number;
  readonly auditSinks?: readonly AuditSink[];
  /** Put around the requests, to watch them. */
  readonly around?: (fetch: OutboundFetch) => OutboundFetch;
  /** Put around each attempt, request and all. */
  readonly aroundAttempt?: (endpoint: string, attempt: Attempt) => Attempt;
  /** Times, replaced in tests. */
  readonly pace?: Pick<DeliveryWorkerOptions, 'retryDelay' | 'lockMs' | 'graceMs'> &
    Pick<DispatcherOptions, 'leaseMs' | 'pauseMs'>;
  readonly timeoutMs?: number;
}

/** What is queued for an endpoint, on all replicas together. */
export interface EndpointDeliveries {
  readonly endpoint: string;
  readonly counts: QueueCounts;
}

export interface Webhooks {
  deliveries(): Promise<readonly EndpointDeliveries[]>;
  stop(): Promise<void>;
}

/**
 * Tells the receivers of all MCP servers, each on its own: a queue, a rate and a bound of requests per endpoint, so that one that
 * is slow or away delays nobody else. When this resolves, whatever is committed from now on will be told.
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { config, feed, stores, redis, logger, now, pace = {} } = options;
  const { around = fetch => fetch, aroundAttempt = (_endpoint, attempt) => attempt } = options;
  const events = createWebhookEvents(logger, options.auditSinks);
  const endpoints = webhookEndpointsOf(config);
  const guarded = createOutboundFetch({
    ...outboundPolicyOf(config),
    timeoutMs: options.timeoutMs ?? DELIVERY_TIMEOUT_MS,
    maxBytes: DISCARDED_BYTES,
    configuredHosts: configuredHosts(endpoints),
  });
  const fetch = around(guarded);
  const onError = (endpoint: WebhookEndpoint) => (error: unknown) => events.trouble({ endpoint: endpoint.name, error });
  const { webhookEndpoints: records, leases } = stores;
  try {
    await Promise.all(endpoints.map(endpoint => beginAtNewest({ endpoint, feed, records }).catch(unlessDataLost)));
  } catch (error) {
    redis.close();
    await guarded.close();
    throw error;
  }

  const parts = endpoints.map(endpoint => {
    const queue = openDeliveryQueue({ endpoint: endpoint.name, redis, onError: onError(endpoint) });
    const onDate = createClockWatch({
      now,
      onSkew: skewSeconds => events.clockSkew({ endpoint: endpoint.name, skewSeconds }),
    });
    const worker = startDeliveryWorker({
      ...pace,
      endpoint,
      redis,
      queue,
      health: records,
      attempt: aroundAttempt(endpoint.name, (event, signal) =>
        deliver({ endpoint, event, signal }, { fetch, now, onDate }),
      ),
      events,
      now,
      random: () => randomInt(2 ** 32) / 2 ** 32,
    });
    const dispatcher = startDispatcher({ ...pace, endpoint, queue, feed, records, leases, events });
    return { worker, dispatcher, queue, name: endpoint.name };
  });

  return {
    deliveries: () =>
      Promise.all(parts.map(async ({ name, queue }) => ({ endpoint: name, counts: await queue.counts() }))),
    async stop() {
      await Promise.all(parts.flatMap(({ worker, dispatcher }) => [worker.stop(), dispatcher.stop()]));
      redis.close();
      await guarded.close();
    },
  };
}

/** Nothing is committed while data is lost. The dispatcher begins once the loss is accepted. */
function unlessDataLost(error: unknown): void {
  if (!isDataLost(error)) throw error;
}
