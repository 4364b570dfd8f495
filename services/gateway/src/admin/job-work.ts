import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConnectionId,
  type JobProgress,
  newRevocationId,
  parseConnectionId,
  type StoredJob,
  type Stores,
  shardIn,
  systemEntropy,
} from '@postern/elicitation';
import type { DeliveryQueue, RetryOutcome } from '../events/webhooks/delivery-queue.ts';
import { openWebhookQueues } from '../events/webhooks/webhook-queues.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type Network, offered } from '../platform/store/network.ts';
import { createConnectionSearch, type DisconnectTarget } from './connection-search.ts';
import { fewAtOnce } from './paced-reads.ts';

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
  readonly stores: Pick<Stores, 'connections' | 'lists' | 'sealedRecords'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly network: Network | undefined;
  /** Called for each connection that the job removes. */
  readonly onRemoved: (removed: NonNullable<Awaited<ReturnType<Stores['connections']['remove']>>>) => Promise<void>;
}

/** Steps of a search without a match, after which the lease is extended. */
const SEARCHES_PER_STEP = 50;
/** Maximum number of deliveries that a job follows at a time. */
const REDELIVERIES_AT_ONCE = 100;
/** Pause before the job reads again how deliveries ended, in milliseconds. */
const LOOK_MS = 250;
/** How long a job waits for any outcome, in milliseconds: while attempts are under way, longer than an attempt takes. */
const PATIENCE_MS = { attempting: 30_000, nothing: 3_000 };
/** Begins a cursor among the deliveries that wait for their next attempt. */
const WAITING = 'waiting ';

/** What the job looks for. @throws JobFailedError */
function disconnectTargetOf({ about: { target }, person }: StoredJob): DisconnectTarget {
  const { subject, since, connectionId, provider, mcpServerId } = target;
  // Without its person, the job would concern everybody.
  if (subject !== undefined && person === undefined) throw new JobFailedError('person_missing');
  const from = since === undefined ? undefined : new Date(since);
  return { connectionId, subject: person, provider, mcpServerId, since: from };
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
        ...next,
        cursor,
        share,
        pending: pending.map(({ connectionId }) => connectionId),
        found: next.found + pending.length,
        unreadable: next.unreadable + unreadable,
      };
    }
    return { progress: next, isOver: false };
  };
}

/**
 * Starts the next attempt of the deliveries of an endpoint that wait for it, and restarts those that were dead when the job was started,
 * oldest first. Then it reads how each of them ended, a bounded number at a time, so a crash loses no count. A pending entry is an event
 * id, and after the start of its attempt also the number of earlier attempts. The cursor is first the place among the waiting deliveries,
 * then the number of the oldest dead ones that this release cannot read.
 */
function redelivering(
  { createdAt }: Pick<StoredJob, 'createdAt'>,
  queue: DeliveryQueue,
  isEndpointDisabled: () => Promise<boolean>,
): JobStep {
  let idleMs = 0;

  /** Starts one, or looks at it. The queue of a disabled endpoint attempts nothing, so there is nothing to wait for. */
  async function advance(entry: string, isDisabled: boolean) {
    const [eventId = '', before] = entry.split(' ');
    const now = before === undefined ? await queue.retry(eventId, createdAt) : undefined;
    const later = before === undefined ? undefined : await queue.outcomeOf(eventId, Number(before));
    const end = typeof now === 'string' ? now : later;
    const isOpen = end === undefined || end === 'waiting';
    const attempts = typeof now === 'object' ? now.attempts : before;
    return { end, isStarted: now !== undefined, pending: isOpen && !isDisabled ? [`${eventId} ${attempts}`] : [] };
  }

  /** Finds the next ones. Undefined without any that were there at the start. */
  async function find(cursor: string, limit: number) {
    if (!/^\d+$/.test(cursor)) {
      const after = cursor.slice(WAITING.length);
      const found = await queue.retryable({ until: createdAt, limit, ...(after === '' ? {} : { after }) });
      return { eventIds: found.eventIds, cursor: found.cursor === undefined ? '0' : `${WAITING}${found.cursor}` };
    }
    const skipped = Number(cursor);
    const { dead } = await queue.counts();
    const atOnce = Math.min(limit, dead - skipped);
    if (atOnce <= 0) return undefined;
    const read = await queue.dead({ start: dead - skipped - atOnce, limit: atOnce });
    const eventIds = read.filter(({ failedAt }) => failedAt <= createdAt).map(({ event }) => event.eventId);
    if (read.length > 0 && eventIds.length === 0) return undefined;
    return { eventIds, cursor: String(skipped + atOnce - read.length) };
  }

  return async progress => {
    const isDisabled = await isEndpointDisabled();
    const ends = await fewAtOnce(progress.pending, entry => advance(entry, isDisabled));
    const counted = (end: RetryOutcome) => ends.filter(each => each.end === end).length;
    const done = progress.done + ends.filter(({ isStarted }) => isStarted).length;
    const delivered = (progress.delivered ?? 0) + counted('delivered');
    const failedAgain = (progress.failedAgain ?? 0) + counted('failed');
    const open = ends.flatMap(({ pending }) => pending);
    const room = REDELIVERIES_AT_ONCE - open.length;
    const next = room > 0 ? await find(progress.cursor, room) : { eventIds: [], cursor: progress.cursor };
    const hasChanged = ends.some(({ end, isStarted }) => isStarted || (end !== undefined && end !== 'waiting'));
    const isIdle = !hasChanged && open.length > 0 && (next === undefined || next.eventIds.length === 0);
    idleMs = isIdle ? idleMs + LOOK_MS : 0;
    if (isIdle) await delay(LOOK_MS);
    const { dead, delayed, underWay } = await queue.counts();
    // The receiver asks to wait, or no gateway is running: the deliveries stay in the queue.
    const patienceMs = underWay > 0 ? PATIENCE_MS.attempting : PATIENCE_MS.nothing;
    const isOver = next === undefined && (open.length === 0 || idleMs >= patienceMs);
    const found = progress.found + (next?.eventIds.length ?? 0);
    const left = next === undefined ? 0 : dead + delayed;
    return {
      progress: {
        ...progress,
        found,
        done,
        delivered,
        failedAgain,
        cursor: next?.cursor ?? progress.cursor,
        pending: isOver ? [] : [...open, ...(next?.eventIds ?? [])],
        share: isOver ? 1 : (done - open.length) / Math.max(1, found + left),
      },
      isOver,
    };
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
  const { endpoint = '' } = job.about.target;
  const isDisabled = async () => (await offered(deps.network).webhookEndpoints.read(endpoint)).disabled !== undefined;
  return await work(redelivering(job, queue, isDisabled));
}
