import {
  type ConnectionId,
  definedOnly,
  newRevocationId,
  parseConnectionId,
  shardIn,
  systemEntropy,
} from '@postern/elicitation';
import type { JobProgress, QueueRedis, RedisStores, StoredJob } from '@postern/store-redis';
import type { DeliveryQueue } from '../events/webhooks/delivery-queue.ts';
import { openWebhookQueues } from '../events/webhooks/webhook-queues.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { createConnectionSearch, type DisconnectTarget } from './connection-search.ts';

/** Thrown for a job that no retry can complete. */
export class JobFailedError extends Error {
  override name = 'JobFailedError';
  readonly code: 'unknown_endpoint' | 'person_missing';

  constructor(code: JobFailedError['code']) {
    super(code);
    this.code = code;
  }
}

/**
 * Does what is pending, and finds what to do next. The caller stores the result before the next step, so after a crash only the pending
 * part is done again, and it must be harmless.
 */
export type JobStep = (progress: JobProgress) => Promise<{ readonly progress: JobProgress; readonly isOver: boolean }>;

export interface JobWorkDeps {
  readonly config: Pick<GatewayConfig, 'providers' | 'mcpServers' | 'operatorWebhooks'>;
  readonly stores: Pick<RedisStores, 'connections' | 'lists' | 'sealedRecords'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly openQueueRedis: () => QueueRedis;
  /** Called for each connection that the job removes. */
  readonly onRemoved: (
    removed: NonNullable<Awaited<ReturnType<RedisStores['connections']['remove']>>>,
  ) => Promise<void>;
}

/** Steps of a search without a match, after which the lease is extended. */
const SEARCHES_PER_STEP = 50;
const REDELIVERIES_PER_STEP = 50;

/** What the job looks for. @throws JobFailedError */
function disconnectTargetOf({ about: { target }, person }: StoredJob): DisconnectTarget {
  const { subject, since, connectionId, provider, mcpServerId } = target;
  // Without its person, the job would concern everybody.
  if (subject !== undefined && person === undefined) throw new JobFailedError('person_missing');
  const from = since === undefined ? undefined : new Date(since);
  return definedOnly({ connectionId, subject: person, provider, mcpServerId, since: from });
}

/** Removes connections that existed when the job was started. Each removal leaves a revocation, which the gateway sends within seconds. */
function disconnecting(job: StoredJob, { config, stores, mcpServers, onRemoved }: JobWorkDeps): JobStep {
  const target = disconnectTargetOf(job);
  const search = createConnectionSearch({ stores, mcpServers });
  const providers = new Set(config.providers.map(({ name }) => name));
  let found: ReturnType<typeof search> | undefined;

  async function remove(connectionId: ConnectionId): Promise<void> {
    const connection = await stores.connections.read(connectionId);
    if (connection === undefined) return;
    const removed = await stores.connections.remove({
      connectionId,
      connectedUntil: job.createdAt,
      // Without its configuration, a provider cannot be asked to revoke the grant.
      ...(providers.has(connection.provider)
        ? { revocationId: newRevocationId(shardIn(connectionId), systemEntropy) }
        : {}),
    });
    if (removed !== undefined) await onRemoved(removed);
  }

  return async progress => {
    for (const id of progress.pending) {
      const connectionId = parseConnectionId(id);
      if (connectionId !== undefined) await remove(connectionId);
    }
    found ??= search(target, progress.cursor);
    let next = { ...progress, done: progress.found, pending: [] as readonly string[] };
    for (let at = 0; at < SEARCHES_PER_STEP && next.pending.length === 0; at += 1) {
      const step = await found.next();
      if (step.done === true) return { progress: { ...next, share: 1 }, isOver: true };
      const { connections, unreadable, cursor, share } = step.value;
      // The user has connected again since: that one stays.
      const pending = connections.filter(({ createdAt }) => createdAt <= job.createdAt);
      next = {
        ...{ ...next, cursor, share, pending: pending.map(({ connectionId }) => connectionId) },
        ...{ found: next.found + pending.length, unreadable: next.unreadable + unreadable },
      };
    }
    return { progress: next, isOver: false };
  };
}

/**
 * Starts the next attempt of the deliveries of an endpoint that wait for it, and restarts those that were dead when the job was started,
 * oldest first. The cursor counts the oldest ones that this release cannot read.
 */
function redelivering(job: Pick<StoredJob, 'createdAt'>, queue: DeliveryQueue): JobStep {
  return async progress => {
    // Once: those that fail again wait for their next attempt.
    if (progress.share === 0) await queue.retryNow();
    for (const eventId of progress.pending) await queue.redeliver(eventId);
    const skipped = Number(progress.cursor);
    const { dead } = await queue.counts();
    const limit = Math.min(REDELIVERIES_PER_STEP, dead - skipped);
    const read = limit > 0 ? await queue.dead({ start: dead - skipped - limit, limit }) : [];
    const pending = read.filter(({ failedAt }) => failedAt <= job.createdAt).map(({ event }) => event.eventId);
    const found = progress.found + pending.length;
    const isOver = limit <= 0 || (read.length > 0 && pending.length === 0);
    const share = isOver ? 1 : found / Math.max(found, found + dead - skipped - limit);
    const cursor = String(skipped + Math.max(0, limit) - read.length);
    return { progress: { ...progress, found, done: progress.found, pending, cursor, share }, isOver };
  };
}

/** Prepares the work of a job, and passes it to `work`. @throws JobFailedError */
export async function withWorkOf<T>(
  job: StoredJob,
  deps: JobWorkDeps,
  work: (step: JobStep) => Promise<T>,
): Promise<T> {
  if (job.about.verb === 'disconnect') return work(disconnecting(job, deps));
  await using queues = await openWebhookQueues({ ...deps, onError: () => {} });
  const { queue } = queues.all.find(({ endpoint }) => endpoint.name === job.about.target.endpoint) ?? {};
  if (queue === undefined) throw new JobFailedError('unknown_endpoint');
  // The queues are open until the work is over.
  return await work(redelivering(job, queue));
}
