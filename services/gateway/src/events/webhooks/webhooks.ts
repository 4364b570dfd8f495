import { randomInt } from 'node:crypto';
import { createOutboundConnections, createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import type { EventFeed, PasskeyAnnouncements } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import { isDataLost } from '@postern/store-redis/profile';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import type { Logger } from '../../platform/logger.ts';
import { configuredHosts, outboundPolicyOf } from '../../platform/outbound/outbound-policy-of.ts';
import { withTimeout } from '../../platform/with-timeout.ts';
import { startAnnouncer } from './announcer.ts';
import { type Attempt, createClockWatch, DELIVERY_TIMEOUT_MS, DISCARDED_BYTES, deliver } from './deliver.ts';
import { type DeliveryQueue, openDeliveryQueue, type QueueCounts } from './delivery-queue.ts';
import { type DeliveryWorker, type DeliveryWorkerOptions, startDeliveryWorker } from './delivery-worker.ts';
import { beginAtNewest, type Dispatcher, type DispatcherOptions, startDispatcher } from './dispatcher.ts';
import {
  type McpServerEndpoint,
  mcpServerEndpointsOf,
  operatorEndpointsOf,
  type WebhookEndpoint,
} from './webhook-endpoint.ts';
import { createWebhookLog } from './webhook-log.ts';

export interface WebhooksOptions {
  readonly config: GatewayConfig;
  /** The configuration in force, whose endpoints are known. */
  readonly before?: GatewayConfig | undefined;
  readonly feed: EventFeed;
  readonly stores: {
    readonly webhookEndpoints: DispatcherOptions['records'] & DeliveryWorkerOptions['health'];
    readonly leases: DispatcherOptions['leases'];
    readonly passkeyAnnouncements: PasskeyAnnouncements;
  };
  /** Of the process: attempts that end late are still recorded. */
  readonly redis: QueueRedis;
  readonly logger: Logger;
  readonly now: () => number;
  readonly auditLog: AuditLog;
  /** Wraps `fetch` to record each request. */
  readonly wrapFetch?: (fetch: OutboundFetch) => OutboundFetch;
  /** Wraps each attempt, to trace it. */
  readonly wrapAttempt?: (endpoint: string, attempt: Attempt) => Attempt;
  /** Replaces times, in tests. */
  readonly pace?: Pick<DeliveryWorkerOptions, 'retryDelay' | 'lockMs' | 'graceMs'> &
    Pick<DispatcherOptions, 'leaseMs' | 'pauseMs'> & { readonly announcerPauseMs?: number };
  readonly timeoutMs?: number;
}

/** The queue of an endpoint, which all replicas share. */
export interface EndpointDeliveries {
  readonly endpoint: string;
  readonly counts: QueueCounts;
}

/** The webhooks of one configuration. */
export interface Webhooks {
  deliveries(): Promise<readonly EndpointDeliveries[]>;
  /** Begins to deliver, once `before` has resolved: the webhooks of another configuration may still have the leases. */
  start(before?: Promise<unknown>): void;
  /** Reads no further events. Resolves when the leases are given back. Attempts in progress go on. */
  release(): Promise<unknown>;
  /** As `stop`, but attempts in progress end as they began. */
  retire(): Promise<void>;
  /** Attempts in progress have a few seconds, also after `retire`. */
  stop(): Promise<void>;
}

/** Grace period of attempts under a configuration that a reload has replaced, in ms: the timeout of an attempt and a margin. */
const RELOAD_GRACE_MS = DELIVERY_TIMEOUT_MS + 1_000;
/** How long a stop waits for a round in progress, which waits for Redis. Another replica repeats it. */
const ROUND_MS = 2_000;

/**
 * Opens the webhooks of MCP servers and of the operator. Each endpoint has its own queue, rate and concurrency, so a slow receiver
 * delays no other. Every event that is committed after this resolves will be delivered, once they have started.
 */
export async function openWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { config, feed, stores, redis, logger, auditLog, now, pace = {} } = options;
  const { wrapFetch = fetch => fetch, wrapAttempt = (_endpoint, attempt) => attempt } = options;
  const log = createWebhookLog(logger);
  const policy = {
    ...outboundPolicyOf(config),
    timeoutMs: options.timeoutMs ?? DELIVERY_TIMEOUT_MS,
    maxBytes: DISCARDED_BYTES,
  };
  const connections = createOutboundConnections(policy);
  const onError = (endpoint: WebhookEndpoint) => (error: unknown) => log.failed({ endpoint: endpoint.name, error });
  const { webhookEndpoints: records, leases } = stores;
  const endpoints: readonly WebhookEndpoint[] = [...mcpServerEndpointsOf(config), ...operatorEndpointsOf(config)];
  let parts: readonly Part[] = [];
  let announcer: ReturnType<typeof startAnnouncer> | undefined;
  let released: Promise<unknown> | undefined;
  let ended: Promise<void> | undefined;

  function startPart(endpoint: WebhookEndpoint): Part {
    const fetch = wrapFetch(
      createOutboundFetch({ ...policy, configuredHosts: configuredHosts(endpoint.url) }, connections),
    );
    const queue = openDeliveryQueue({ endpoint: endpoint.name, redis, onError: onError(endpoint) });
    const onDate = createClockWatch({
      now,
      onSkew: skewSeconds => log.clockSkew({ endpoint: endpoint.name, skewSeconds }),
    });
    const worker = startDeliveryWorker({
      ...pace,
      endpoint,
      redis,
      queue,
      health: records,
      attempt: wrapAttempt(endpoint.name, (event, signal) =>
        deliver({ endpoint, event, signal }, { fetch, now, onDate }),
      ),
      log,
      auditLog,
      now,
      random: () => randomInt(2 ** 32) / 2 ** 32,
    });
    return {
      endpoint,
      worker,
      queue,
      dispatcher: isOfMcpServer(endpoint)
        ? startDispatcher({ ...pace, queue, endpoint, feed, records, leases, log, auditLog })
        : undefined,
    };
  }

  function begin(): void {
    if (released !== undefined) return;
    parts = endpoints.map(startPart);
    const ofOperator = parts.filter(({ endpoint }) => !isOfMcpServer(endpoint));
    if (ofOperator.length === 0) return;
    announcer = startAnnouncer({
      parts: ofOperator,
      announcements: stores.passkeyAnnouncements,
      records,
      auditLog,
      onError: error => log.failed({ endpoint: 'operator', error }),
      pauseMs: pace.announcerPauseMs,
    });
  }

  function release(): Promise<unknown> {
    released ??= Promise.allSettled([announcer?.stop(), ...parts.map(({ dispatcher }) => dispatcher?.stop())]);
    return released;
  }

  /** Only queues that others replace need an end of their own: it may wait for Redis. */
  async function close(workers: Promise<unknown>, isReplaced: boolean): Promise<void> {
    await Promise.all([workers, withTimeout(release(), ROUND_MS, undefined)]);
    if (isReplaced) await withTimeout(Promise.allSettled(parts.map(({ queue }) => queue.close())), ROUND_MS, undefined);
    await connections.close();
  }

  async function stop(graceMs?: number): Promise<void> {
    const workers = Promise.all(parts.map(({ worker }) => worker.stop(graceMs)));
    ended ??= close(workers, graceMs !== undefined);
    await Promise.all([workers, ended]);
  }

  // The configuration in force has seen to its endpoints. Without new ones, a reload needs no Redis: it may withdraw a key.
  const known = new Set(options.before && mcpServerEndpointsOf(options.before).map(({ name }) => name));
  const added = mcpServerEndpointsOf(config).filter(({ name }) => !known.has(name));
  try {
    await Promise.all(added.map(endpoint => beginAtNewest({ endpoint, feed, records }).catch(unlessDataLost)));
  } catch (error) {
    await connections.close();
    throw error;
  }

  return {
    start(before) {
      if (before === undefined) begin();
      else before.then(begin, begin);
    },
    release,
    deliveries: () =>
      Promise.all(
        parts.map(async ({ endpoint, queue }) => ({ endpoint: endpoint.name, counts: await queue.counts() })),
      ),
    retire: () => stop(RELOAD_GRACE_MS),
    stop: () => stop(),
  };
}

/** An endpoint at work. */
interface Part {
  readonly endpoint: WebhookEndpoint;
  readonly queue: DeliveryQueue;
  readonly worker: DeliveryWorker;
  /** Undefined for endpoints of the operator, which share the announcer. */
  readonly dispatcher: Dispatcher | undefined;
}

const isOfMcpServer = (endpoint: WebhookEndpoint): endpoint is McpServerEndpoint => 'mcpServerId' in endpoint;

/** Nothing is committed until the operator accepts a loss of data. The dispatcher then sets the cursor. */
function unlessDataLost(error: unknown): void {
  if (!isDataLost(error)) throw error;
}
