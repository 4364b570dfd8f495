import { randomInt } from 'node:crypto';
import { createOutboundConnections, createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import type { EventFeed, PasskeyAnnouncements } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import { isDataLost } from '@postern/store-redis/profile';
import type { AuditLog } from '../../platform/audit/audit-log.ts';
import { isSameConfig } from '../../platform/config/config-changes.ts';
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
  readonly feed: EventFeed;
  readonly stores: {
    readonly webhookEndpoints: DispatcherOptions['records'] & DeliveryWorkerOptions['health'];
    readonly leases: DispatcherOptions['leases'];
    readonly passkeyAnnouncements: PasskeyAnnouncements;
  };
  /** Closed with the webhooks. */
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

export interface Webhooks {
  deliveries(): Promise<readonly EndpointDeliveries[]>;
  /** Begins the endpoints that a configuration adds: they receive every event that is committed after this resolves. */
  prepare(config: GatewayConfig): Promise<void>;
  /**
   * Delivers under this configuration from now on. Unchanged endpoints are not interrupted. Attempts in progress end as they began, in
   * the background.
   */
  apply(config: GatewayConfig): Promise<void>;
  stop(): Promise<void>;
}

/** Grace period of attempts to an endpoint that a reload changed or removed, in ms: the timeout of an attempt and a margin. */
const RELOAD_GRACE_MS = DELIVERY_TIMEOUT_MS + 1_000;
/** How long a stop waits for a round in progress, which waits for Redis. Another replica repeats it. */
const ROUND_MS = 2_000;

/**
 * Starts the webhooks of MCP servers and of the operator. Each endpoint has its own queue, rate and concurrency, so a slow receiver
 * delays no other. Every event that is committed after this resolves will be delivered.
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks> {
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
  const parts = new Map<string, Part>();
  /** Parts whose attempts in progress have not ended. */
  const retiring = new Set<{ readonly part: Part; readonly ended: Promise<void> }>();
  let announcer: ReturnType<typeof startAnnouncer> | undefined;

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

  /** Resolves when the part dispatches no more. Its attempts in progress end in the background. */
  async function retire(part: Part): Promise<void> {
    await part.dispatcher?.stop();
    const entry = {
      part,
      ended: part.worker
        .stop(RELOAD_GRACE_MS)
        .then(() => part.queue.close())
        .catch(onError(part.endpoint))
        .finally(() => retiring.delete(entry)),
    };
    retiring.add(entry);
  }

  function startAnnouncements(ofOperator: readonly Part[]) {
    return startAnnouncer({
      parts: ofOperator,
      announcements: stores.passkeyAnnouncements,
      records,
      auditLog,
      onError: error => log.failed({ endpoint: 'operator', error }),
      pauseMs: pace.announcerPauseMs,
    });
  }

  async function prepare(next: GatewayConfig): Promise<void> {
    const added = mcpServerEndpointsOf(next).filter(({ name }) => !parts.has(name));
    await Promise.all(added.map(endpoint => beginAtNewest({ endpoint, feed, records }).catch(unlessDataLost)));
  }

  async function apply(next: GatewayConfig): Promise<void> {
    const operatorEndpoints = operatorEndpointsOf(next);
    const wanted = new Map(
      [...mcpServerEndpointsOf(next), ...operatorEndpoints].map(endpoint => [endpoint.name, endpoint]),
    );
    const outdated = [...parts.values()].filter(
      ({ endpoint }) => !isSameConfig(endpoint.settings, wanted.get(endpoint.name)?.settings),
    );
    const started = [...wanted.values()].filter(
      ({ name }) => !parts.has(name) || outdated.some(({ endpoint }) => endpoint.name === name),
    );
    const changesOperator = [...outdated.map(({ endpoint }) => endpoint), ...started].some(
      each => !isOfMcpServer(each),
    );
    if (changesOperator) await announcer?.stop();
    await Promise.all(outdated.map(retire));
    for (const { endpoint } of outdated) parts.delete(endpoint.name);
    for (const endpoint of started) parts.set(endpoint.name, startPart(endpoint));
    if (changesOperator) {
      const ofOperator = operatorEndpoints.flatMap(({ name }) => parts.get(name) ?? []);
      announcer = ofOperator.length === 0 ? undefined : startAnnouncements(ofOperator);
    }
  }

  try {
    await prepare(config);
  } catch (error) {
    redis.close();
    await connections.close();
    throw error;
  }
  await apply(config);

  return {
    prepare,
    apply,
    deliveries: () =>
      Promise.all(
        [...parts.values()].map(async ({ endpoint, queue }) => ({
          endpoint: endpoint.name,
          counts: await queue.counts(),
        })),
      ),
    async stop() {
      const ended = [...retiring].map(({ part, ended }) => Promise.all([part.worker.stop(), ended]));
      const all = [...parts.values()];
      const rounds = Promise.all([announcer?.stop(), ...all.map(({ dispatcher }) => dispatcher?.stop())]);
      await Promise.all([
        ...ended,
        ...all.map(({ worker }) => worker.stop()),
        withTimeout(rounds, ROUND_MS, undefined),
      ]);
      // A command that waits for a reconnect never ends after this, and writes nothing.
      redis.close();
      await connections.close();
    },
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
