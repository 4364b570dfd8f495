import type { QueueRedis, RedisWebhookEndpointStore } from '@postern/store-redis';
import { DelayedError, type Job, Worker } from 'bullmq';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import { withTimeout } from '../../platform/with-timeout.ts';
import type { Attempt } from './deliver.ts';
import { type DeliveryOutcome, deliveryOutcome, isToBeDisabled, retryDelayMs } from './delivery-policy.ts';
import { type DeliveryQueue, jobSchema, QUEUE_NAME } from './delivery-queue.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';
import type { WebhookLog } from './webhook-log.ts';

export interface DeliveryWorkerOptions {
  readonly endpoint: WebhookEndpoint;
  readonly redis: QueueRedis;
  readonly queue: DeliveryQueue;
  readonly health: Pick<RedisWebhookEndpointStore, 'read' | 'noteSuccess' | 'noteFailure' | 'disable'>;
  readonly attempt: Attempt;
  readonly log: WebhookLog;
  readonly auditLog: AuditLog;
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  /** Replaces the schedule, in tests. */
  readonly retryDelay?: typeof retryDelayMs;
  /** Lock of a job. Another replica takes over the jobs of a dead one after about twice this time. Default 10 s. */
  readonly lockMs?: number;
  /** How long a stop waits for responses. Default 4 s. */
  readonly graceMs?: number;
}

export interface DeliveryWorker {
  /**
   * Resolves after the attempts in progress. Aborts those without a response after the grace period; they are retried later. A second
   * call may shorten the grace period.
   */
  stop(graceMs?: number): Promise<void>;
}

/** Maximum pause of an endpoint after a `Retry-After`. The delivery itself waits for the full time. */
const MAX_HOLD_MS = 10 * 60_000;
/**
 * How long a stop waits for BullMQ when no delivery is in progress. After a lost connection BullMQ may wait 11 s for a fetch
 * that never gets a response.
 */
const IDLE_STOP_MS = 500;
/** Delay of a job that was fetched before the queue of its disabled endpoint was paused. */
const DISABLED_DELAY_MS = 5_000;

/** A failed attempt. BullMQ stores the message, which is the reason. */
class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure';
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Delivers the queue of one endpoint, at least once. A job is done after a 2xx response. A job of a killed replica is delivered
 * again under the same id.
 */
export function startDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { endpoint, redis, queue, health, attempt, log, auditLog, now, random } = options;
  const { retryDelay = retryDelayMs, lockMs = 10_000 } = options;
  const { name } = endpoint;
  const stopping = new AbortController();
  let inProgress = 0;
  const onError = (error: unknown) => {
    if (!stopping.signal.aborted) log.failed({ endpoint: name, error });
  };

  async function disable(reason: 'gone' | 'failing'): Promise<void> {
    // Stored first: if this replica is killed in between, the others pause the queue.
    if (await health.disable(name, { reason, now: now() }))
      auditLog.record('webhook.disabled', { endpoint: name, reason });
    await queue.pause();
  }

  async function recordOutcome(outcome: DeliveryOutcome): Promise<void> {
    switch (outcome.result) {
      case 'delivered':
        return health.noteSuccess(name);
      case 'gone':
        return disable('gone');
      case 'failed': {
        const failingSince = await health.noteFailure(name, now());
        if (isToBeDisabled(failingSince, now())) await disable('failing');
        if (outcome.retryAfterMs !== undefined && outcome.retryAfterMs > 0)
          await queue.hold(Math.min(outcome.retryAfterMs, MAX_HOLD_MS));
      }
    }
  }

  async function handle(job: Job<unknown>, token: string | undefined): Promise<void> {
    const event = jobSchema.safeParse(job.data);
    // The job may be from a newer release, which runs on another replica.
    if (!event.success) throw new DeliveryFailure('unreadable');
    if ((await health.read(name)).disabled !== undefined) {
      await queue.pause();
      await job.moveToDelayed(now() + DISABLED_DELAY_MS, token);
      throw new DelayedError();
    }
    const outcome = deliveryOutcome(await attempt(event.data, stopping.signal), now());
    // An abort by this process is not a failure of the receiver.
    if (stopping.signal.aborted && outcome.result === 'failed') throw new DeliveryFailure('stopped');
    // The response decides whether the job is done, even if the record of the endpoint cannot be updated.
    await recordOutcome(outcome).catch(onError);
    if (outcome.result === 'gone') throw new DeliveryFailure(outcome.reason);
    if (outcome.result === 'failed') throw new DeliveryFailure(outcome.reason, outcome.retryAfterMs);
  }

  /** BullMQ stores the message of an error, so only our own reasons may reach it. */
  async function handleWithReason(job: Job<unknown>, token?: string): Promise<void> {
    inProgress += 1;
    try {
      await handle(job, token);
    } catch (error) {
      if (error instanceof DeliveryFailure || error instanceof DelayedError) throw error;
      onError(error);
      throw new DeliveryFailure('internal');
    } finally {
      inProgress -= 1;
    }
  }

  const worker = new Worker<unknown, void>(QUEUE_NAME, handleWithReason, {
    connection: redis.connection,
    prefix: redis.prefixOf(name),
    concurrency: endpoint.concurrency,
    limiter: { max: endpoint.ratePerSecond, duration: 1_000 },
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    // A killed replica is not a failure of the delivery.
    maxStalledCount: 1_000,
    runRetryDelay: 2_000,
    settings: {
      backoffStrategy: (attemptsMade, _type, error, job) => {
        const retryAfterMs = error instanceof DeliveryFailure ? error.retryAfterMs : undefined;
        const delayMs = retryDelay(attemptsMade, { random: random(), retryAfterMs });
        if (delayMs === undefined) return -1;
        log.postponed({
          endpoint: name,
          eventId: job?.id ?? '',
          reason: reasonOf(error),
          attempt: attemptsMade,
          delayMs,
        });
        return delayMs;
      },
    },
  });
  worker.on('error', onError);
  worker.on('failed', (job, error) => {
    if (job?.finishedOn !== undefined)
      auditLog.record('webhook.dead', { endpoint: name, eventId: job.id ?? '', reason: reasonOf(error) });
  });

  return {
    async stop(replacedMs) {
      const graceMs = replacedMs ?? options.graceMs ?? 4_000;
      let isClosed = false;
      const closed = worker.close().then(() => {
        isClosed = true;
      });
      const timeoutMs = () => (inProgress === 0 ? Math.min(IDLE_STOP_MS, graceMs) : graceMs);
      // Responses within the grace period count. The other attempts are aborted and retried.
      await withTimeout(closed, timeoutMs(), undefined);
      stopping.abort();
      await withTimeout(closed, timeoutMs(), undefined);
      // Without Redis the worker cannot release its jobs. Other replicas take over as after a crash. A disconnect ends the connection for
      // the workers of the next configuration too, for good, so a replaced worker closes when Redis is back.
      if (!isClosed && replacedMs === undefined)
        await withTimeout(worker.disconnect().catch(onError), timeoutMs(), undefined);
    },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof DeliveryFailure ? error.message : 'internal';
}
