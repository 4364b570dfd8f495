import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConnectionId,
  DomainError,
  type JobEnd,
  type JobProgress,
  newOperationId,
  newRevocationId,
  parseConnectionId,
  type StoredJob,
  type Stores,
  StoreUnavailableError,
  shardIn,
  systemEntropy,
} from '@postern/elicitation';
import type { DeliveryQueue, RetryOutcome } from '../events/webhooks/delivery-queue.ts';
import { openWebhookQueues } from '../events/webhooks/webhook-queues.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Logger } from '../platform/logger.ts';
import { periodic } from '../platform/periodic.ts';
import { type Network, offered } from '../platform/store/network.ts';
import type { Actor, AdminProcess } from './admin-audit.ts';
import { createConnectionSearch, type DisconnectTarget } from './connection-search.ts';
import { fewAtOnce } from './paced-reads.ts';

export interface JobRunnerDeps {
  readonly stores: JobWorkDeps['stores'] & Pick<Stores, 'jobs'>;
  readonly network: JobWorkDeps['network'];
  readonly adminProcess: Pick<AdminProcess, 'record' | 'connectionRemoved' | 'jobFailed'>;
  readonly config: JobWorkDeps['config'];
  readonly mcpServers: JobWorkDeps['mcpServers'];
  /** After this time, another replica takes over from a dead one. Default 30 seconds. */
  readonly leaseMs?: number;
}

const LEASE_MS = 30_000;
/** Failures in a row, after which a job is given up. */
const MAX_FAILURES = 10;
const START: JobProgress = { found: 0, done: 0, unreadable: 0, share: 0, cursor: '', pending: [], failures: 0 };

/** What became of a job in this process. `elsewhere`: it has ended, or another replica has it. */
export type Worked = 'ended' | 'released' | 'elsewhere';

/** Returns the verb that works on one job until it has ended, is lost to another replica, or `signal` is aborted. */
export function createJobWorker(deps: JobRunnerDeps) {
  const { stores, leaseMs = LEASE_MS, adminProcess } = deps;

  /** @throws StoreUnavailableError: the lease expires, and a replica resumes the job */
  return async function workOn(
    jobId: string,
    p: { readonly signal: AbortSignal; readonly onProgress?: (progress: JobProgress) => void },
  ): Promise<Worked> {
    const holder = newOperationId(systemEntropy);
    const job = await stores.jobs.claim({ jobId, holder, leaseMs });
    if (job === undefined) return 'elsewhere';
    const { verb, by, door, reason } = job.about;
    const actor: Actor = { who: by, door, reason };
    let progress = job.progress ?? START;

    async function end(status: Exclude<JobEnd, 'cancelled'>): Promise<Worked> {
      const { found, done, unreadable, error, delivered, failedAgain } = progress;
      const counts = { found, done, unreadable, error, delivered, failedAgain };
      await adminProcess.record(actor, { event: 'admin.job_ended', jobId, verb, status, ...counts });
      return (await stores.jobs.end({ jobId, holder, status, progress })) ? 'ended' : 'elsewhere';
    }

    try {
      const onRemoved: JobWorkDeps['onRemoved'] = ({ connectionId, owner, provider, subject }) =>
        adminProcess.connectionRemoved(actor, { jobId, connectionId, owner, provider, subject });
      return await withWorkOf(job, { ...deps, onRemoved }, async step => {
        while (!p.signal.aborted) {
          const { error: _, ...before } = progress;
          const next = await step({ ...before, failures: 0 });
          progress = next.progress;
          p.onProgress?.(progress);
          if (next.isOver) {
            if (progress.unreadable === 0) return end('done');
            progress = { ...progress, error: 'unknown_record_layout' };
            return end('failed');
          }
          if (!(await stores.jobs.move({ jobId, holder, leaseMs, progress }))) return 'elsewhere';
        }
        await stores.jobs.move({ jobId, holder, leaseMs: 0, progress });
        return 'released';
      });
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
      const code = error instanceof DomainError || error instanceof JobFailedError ? error.code : 'internal_error';
      adminProcess.jobFailed({ jobId, error });
      progress = { ...progress, failures: progress.failures + 1, error: code };
      if (error instanceof JobFailedError || progress.failures >= MAX_FAILURES) return end('failed');
      await stores.jobs.move({ jobId, holder, leaseMs: 0, progress });
      return 'released';
    }
  };
}

/** Pause before the list of unfinished jobs is read again. */
const POLL_MS = 1_000;
/** Jobs that one replica works on at a time, so a long one does not hold up the others. */
const AT_ONCE = 4;

export interface JobRunner {
  /** Releases the jobs after the step in progress, so another replica resumes them at once. */
  stop(): Promise<void>;
}

/**
 * Works on the jobs of operators, in the background. A failure of Redis is retried.
 *
 * Why do jobs not run on BullMQ, as the deliveries of webhooks do (`events/webhooks`), or deliveries on this?
 *
 * - A gateway of one person keeps jobs in SQLite, and a command works on them in its own process. BullMQ needs Redis.
 * - A job is one long search. Each step stores its progress and extends the lease in one commit (`move`), which fails if another replica
 *   has the lease. BullMQ stores progress without checking its lock (`updateProgress`), so a replica that was paused for a while could
 *   take the job back to an earlier step.
 * - A delivery is one request among many thousands, with a schedule of 72 hours, and with a rate, a concurrency and a pause for each
 *   endpoint. Jobs have none of these: a failed step is repeated at once, ten times in a row at most. Here, all of it would have to be
 *   written again.
 */
export function startJobRunner(deps: JobRunnerDeps & { readonly logger: Logger; readonly pollMs?: number }): JobRunner {
  const { stores, logger, pollMs = POLL_MS } = deps;
  const workOn = createJobWorker(deps);
  const underWay = new Map<string, Promise<unknown>>();
  const failed = (error: unknown) =>
    logger.warn({ event: 'job.interrupted', error }, 'working on jobs failed; retrying');

  async function look(signal: AbortSignal): Promise<void> {
    for (const jobId of await stores.jobs.unfinished()) {
      if (underWay.size >= AT_ONCE || signal.aborted) return;
      if (underWay.has(jobId)) continue;
      const work = workOn(jobId, { signal })
        .catch(failed)
        .finally(() => underWay.delete(jobId));
      underWay.set(jobId, work);
    }
  }

  const looking = periodic({ every: pollMs, run: look, onError: failed });
  return {
    async stop() {
      await looking.stop();
      await Promise.all(underWay.values());
    },
  };
}

/** Thrown for a job that no retry can complete. */
class JobFailedError extends Error {
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
async function withWorkOf<T>(job: StoredJob, deps: JobWorkDeps, work: (step: JobStep) => Promise<T>): Promise<T> {
  if (job.about.verb === 'disconnect') return work(disconnecting(job, deps));
  await using queues = await openWebhookQueues({ ...deps, onError: () => {} });
  const { queue } = queues.all.find(({ endpoint }) => endpoint.name === job.about.target.endpoint) ?? {};
  if (queue === undefined) throw new JobFailedError('unknown_endpoint');
  // The queues are open until the work is over.
  const { endpoint = '' } = job.about.target;
  const isDisabled = async () => (await offered(deps.network).webhookEndpoints.read(endpoint)).disabled !== undefined;
  return await work(redelivering(job, queue, isDisabled));
}
