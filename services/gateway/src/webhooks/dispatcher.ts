import { setTimeout as delay } from 'node:timers/promises';
import { type EventFeed, newOperationId, systemEntropy } from '@postern/elicitation';
import type { LeaseStore, RedisWebhookEndpointStore } from '@postern/store-redis';
import type { DeliveryQueue } from './delivery-queue.ts';
import { type WebhookEndpoint, webhookEventOf } from './webhook-endpoint.ts';
import type { WebhookEvents } from './webhook-events.ts';

export interface DispatcherOptions {
  readonly endpoint: WebhookEndpoint;
  readonly queue: Pick<DeliveryQueue, 'add' | 'counts' | 'isPaused' | 'pause' | 'resume'>;
  readonly feed: EventFeed;
  readonly records: Pick<RedisWebhookEndpointStore, 'read' | 'moveCursor'>;
  readonly leases: Pick<LeaseStore, 'take' | 'release'>;
  readonly events: WebhookEvents;
  /** A replica that is killed is followed by another after so long and one pause more. Default 10 s. */
  readonly leaseMs?: number;
  /** Longest pause between two looks at the feed. Default 5 s. */
  readonly pauseMs?: number;
  /** Deliveries that may wait in the queue; beyond it events stay in the feed, for as long as that keeps them. Default 100,000. */
  readonly maxWaiting?: number;
}

export interface Dispatcher {
  /** Resolves when nothing is touched any more. */
  stop(): Promise<void>;
}

const BATCH = 100;

/**
 * Carries what an endpoint wants from the feed of its MCP server into its queue, on one replica at a time. First the jobs, then the
 * cursor: whoever is killed in between, or overtaken, has added jobs that the next one adds again, and a job is there only once.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { endpoint, leases, events, feed, leaseMs = 10_000, pauseMs = 5_000 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const own = { name: `webhooks.${endpoint.name}`, holder: newOperationId(systemEntropy) };
  const holdsLease = () => leases.take({ ...own, leaseMs });

  /** False when somebody else does it. */
  async function round(): Promise<boolean> {
    if (!(await holdsLease())) return false;
    while (!signal.aborted && (await dispatchBatch(options))) if (!(await holdsLease())) return false;
    return true;
  }

  async function run(): Promise<void> {
    using watch = feed.watch(endpoint.mcpServerId);
    while (!signal.aborted) {
      let isOurs = false;
      try {
        isOurs = await round();
      } catch (error) {
        if (!signal.aborted) events.trouble({ endpoint: endpoint.name, error });
        // What fails here may work on another replica. A lease that cannot be given back ends by itself.
        await leases.release(own).catch(() => undefined);
      }
      // Whoever does not hold the lease is not woken by every event: the holder is.
      if (isOurs) await watch.next(pauseMs, signal);
      else await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      await leases.release(own).catch((error: unknown) => events.trouble({ endpoint: endpoint.name, error }));
    },
  };
}

/** One step. True when there may be more to do at once. @throws StoreUnavailableError */
export async function dispatchBatch(options: Omit<DispatcherOptions, 'leases'>): Promise<boolean> {
  const { endpoint, queue, feed, records, events, maxWaiting = 100_000 } = options;
  const { name, mcpServerId } = endpoint;
  const { cursor, disabled } = await records.read(name);
  if ((await queue.isPaused()) !== (disabled !== undefined)) {
    if (disabled !== undefined) await queue.pause();
    else {
      await queue.resume();
      events.enabled({ endpoint: name });
    }
  }
  if (disabled !== undefined) return false;
  if (cursor === undefined) {
    await beginAtNewest(options);
    return true;
  }

  const counts = await queue.counts();
  const waiting = counts.waiting + counts.underWay + counts.delayed;
  if (waiting >= maxWaiting) {
    events.full({ endpoint: name, waiting });
    return false;
  }
  let page = await feed.read(mcpServerId, { after: cursor, limit: BATCH });
  if (page.result === 'gone') {
    events.gap({ endpoint: name });
    page = await feed.read(mcpServerId, { after: undefined, limit: BATCH });
  }
  if (page.result === 'gone') throw new TypeError('A feed is never gone from its beginning.');
  const last = page.events.at(-1);
  if (last === undefined) return false;
  await queue.add(page.events.map(webhookEventOf).filter(event => endpoint.wants(event)));
  // Overtaken: another goes on from where it is; this one looks again.
  await records.moveCursor(name, { from: cursor, to: last.position });
  return page.events.length === BATCH;
}

/** A new endpoint hears of what happens from now on. */
export async function beginAtNewest(p: Pick<DispatcherOptions, 'endpoint' | 'feed' | 'records'>): Promise<void> {
  const { name, mcpServerId } = p.endpoint;
  if ((await p.records.read(name)).cursor !== undefined) return;
  await p.records.moveCursor(name, { from: undefined, to: await p.feed.newest(mcpServerId) });
}
