import { setTimeout as delay } from 'node:timers/promises';
import { type EventFeed, type LeaseStore, newOperationId, systemEntropy } from '@postern/elicitation';
import type { RedisWebhookEndpointStore } from '@postern/store-redis';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { type McpServerEndpoint, type WebhookEndpoint, webhookEventOf } from './webhook-endpoint.ts';
import type { WebhookLog } from './webhook-log.ts';

export interface DispatcherOptions {
  readonly endpoint: McpServerEndpoint;
  readonly queue: Pick<DeliveryQueue, 'add' | 'counts' | 'isPaused' | 'pause' | 'resume'>;
  readonly feed: EventFeed;
  readonly records: Pick<RedisWebhookEndpointStore, 'read' | 'moveCursor'>;
  readonly leases: Pick<LeaseStore, 'take' | 'release'>;
  readonly log: WebhookLog;
  readonly auditLog: AuditLog;
  /** Duration of the lease. Another replica takes over from a dead one after this time and one pause. Default 10 s. */
  readonly leaseMs?: number;
  /** Maximum pause between two reads of the feed. Default 5 s. */
  readonly pauseMs?: number;
  /** Maximum number of waiting deliveries. Further events stay in the feed until it drops them. Default `MAX_WAITING`. */
  readonly maxWaiting?: number;
}

export interface Dispatcher {
  /** Resolves after the round in progress. The dispatcher writes nothing afterwards. */
  stop(): Promise<void>;
}

const BATCH = 100;
/** Maximum number of waiting deliveries of an endpoint. */
export const MAX_WAITING = 100_000;

/**
 * Carries the events of an MCP server that an endpoint wants from the feed to its queue, on one replica at a time. It adds the jobs
 * first and then moves the cursor. If a replica is killed or superseded in between, the next one adds the same jobs again, which
 * changes nothing.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { endpoint, leases, log, feed, leaseMs = 10_000, pauseMs = 5_000 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const own = { name: `webhooks.${endpoint.name}`, holder: newOperationId(systemEntropy) };
  const holdsLease = () => leases.take({ ...own, leaseMs });

  /** @returns false while another replica holds the lease */
  async function round(): Promise<boolean> {
    if (!(await holdsLease())) return false;
    while (!signal.aborted && (await dispatchBatch(options))) if (!(await holdsLease())) return false;
    return true;
  }

  async function run(): Promise<void> {
    using watch = feed.watch(endpoint.mcpServerId);
    while (!signal.aborted) {
      let hasLease = false;
      try {
        hasLease = await round();
      } catch (error) {
        if (!signal.aborted) log.failed({ endpoint: endpoint.name, error });
        // The step may succeed on another replica. If the release fails too, the lease expires.
        await leases.release(own).catch(() => undefined);
      }
      // Only the lease holder wakes up on each event.
      if (hasLease) await watch.next(pauseMs, signal);
      else await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      await leases.release(own).catch((error: unknown) => log.failed({ endpoint: endpoint.name, error }));
    },
  };
}

/** Carries one batch. Returns true if there may be more events. @throws StoreUnavailableError @internal */
export async function dispatchBatch(options: Omit<DispatcherOptions, 'leases'>): Promise<boolean> {
  const { endpoint, queue, feed, records, log, auditLog, maxWaiting = MAX_WAITING } = options;
  const { name, mcpServerId } = endpoint;
  const { cursor, disabled } = await followRecord(options);
  if (disabled !== undefined) return false;
  if (cursor === undefined) {
    await beginAtNewest(options);
    return true;
  }

  const waiting = await waitingIn(queue);
  if (waiting >= maxWaiting) {
    log.full({ endpoint: name, waiting });
    return false;
  }
  let page = await feed.read(mcpServerId, { after: cursor, limit: BATCH });
  if (page.result === 'gone') {
    auditLog.record('webhook.gap', { endpoint: name });
    page = await feed.read(mcpServerId, { after: undefined, limit: BATCH });
  }
  if (page.result === 'gone') throw new TypeError('the beginning of a feed always exists');
  const last = page.events.at(-1);
  if (last === undefined) return false;
  await queue.add(page.events.map(webhookEventOf).filter(event => endpoint.wants(event)));
  // If another replica has moved the cursor, this changes nothing, and the next step reads it again.
  await records.moveCursor(name, { from: cursor, to: last.position });
  return page.events.length === BATCH;
}

/** Pauses the queue of a disabled endpoint, and resumes it after an operator has enabled the endpoint. @returns its record */
export async function followRecord(p: {
  readonly endpoint: Pick<WebhookEndpoint, 'name'>;
  readonly queue: Pick<DeliveryQueue, 'isPaused' | 'pause' | 'resume'>;
  readonly records: Pick<RedisWebhookEndpointStore, 'read'>;
  readonly auditLog: AuditLog;
}): ReturnType<RedisWebhookEndpointStore['read']> {
  const { name } = p.endpoint;
  const record = await p.records.read(name);
  const isDisabled = record.disabled !== undefined;
  if ((await p.queue.isPaused()) === isDisabled) return record;
  if (isDisabled) await p.queue.pause();
  else {
    await p.queue.resume();
    p.auditLog.record('webhook.enabled', { endpoint: name });
  }
  return record;
}

export async function waitingIn(queue: Pick<DeliveryQueue, 'counts'>): Promise<number> {
  const { waiting, underWay, delayed } = await queue.counts();
  return waiting + underWay + delayed;
}

/** Sets the cursor of a new endpoint to the end of the feed: it receives only later events. */
export async function beginAtNewest(p: Pick<DispatcherOptions, 'endpoint' | 'feed' | 'records'>): Promise<void> {
  const { name, mcpServerId } = p.endpoint;
  if ((await p.records.read(name)).cursor !== undefined) return;
  await p.records.moveCursor(name, { from: undefined, to: await p.feed.newest(mcpServerId) });
}
