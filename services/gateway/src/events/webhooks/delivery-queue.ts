import { kinds, paymentEventTypes } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import { type Job, type JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';
import { DELIVERY_ATTEMPTS } from './delivery-policy.ts';
import type { WebhookEvent } from './webhook-request.ts';

/** All queues have this name. Their prefixes keep them apart, each with its own hash tag. */
export const QUEUE_NAME = 'deliveries';

const HOUR_S = 3600;
/** BullMQ orders the attempts of one millisecond by the lowest bits of their scores. */
const SCORE_PER_MS = 0x1000;

/** Completed jobs are kept so that adding an event twice is harmless, and dead ones so that the operator can inspect them. */
const jobOptions: JobsOptions = {
  attempts: DELIVERY_ATTEMPTS,
  backoff: { type: 'schedule' },
  removeOnComplete: { age: HOUR_S, count: 1_000 },
  removeOnFail: { age: 30 * 24 * HOUR_S, count: 10_000 },
  stackTraceLimit: 0,
  keepLogs: 0,
};

/**
 * The data of a job: only the event. URL and keys are read from the configuration at each attempt. Unknown members, from a newer
 * release, are dropped.
 */
const elicitationJobSchema = z.object({
  eventId: z.string(),
  elicitationId: z.string(),
  mcpServerId: z.string(),
  kind: z.enum(kinds),
  status: z.enum([
    ...(['pending', 'active', 'verifying', 'completed', 'declined', 'failed', 'cancelled', 'expired'] as const),
    ...paymentEventTypes,
  ]),
  occurredAt: z.number(),
});
const passkeyJobSchema = z.object({
  eventId: z.string(),
  type: z.enum(['passkey.added', 'passkey.removed', 'passkey.reset']),
  pseudonym: z.string(),
  occurredAt: z.number(),
});
export const jobSchema = z.union([elicitationJobSchema, passkeyJobSchema]) satisfies z.ZodType<WebhookEvent>;

export interface DeadDelivery {
  readonly endpoint: string;
  readonly event: WebhookEvent;
  /** Reason of the last failure. */
  readonly reason: string;
  readonly attempts: number;
  readonly failedAt: number;
}

/** A delivery that waits for its next attempt. */
export interface RetryingDelivery {
  readonly endpoint: string;
  readonly event: WebhookEvent;
  /** Reason of the last failure. Absent while the endpoint is disabled and no attempt has failed. */
  readonly reason?: string;
  readonly attempts: number;
  readonly nextAt: number;
}

/** What became of a delivery since its retry. `waiting`: it has not been attempted yet. */
export type RetryOutcome = 'delivered' | 'failed' | 'waiting';

export interface QueueCounts {
  /** Not attempted yet, or due now. */
  readonly waiting: number;
  readonly underWay: number;
  /** Waiting for the next attempt. */
  readonly delayed: number;
  readonly dead: number;
}

/** The deliveries of one endpoint. */
export interface DeliveryQueue {
  /** Adding an event twice changes nothing. @throws StoreUnavailableError if Redis may still lose the jobs */
  add(events: readonly WebhookEvent[]): Promise<void>;
  counts(): Promise<QueueCounts>;
  isPaused(): Promise<boolean>;
  /** Stops deliveries on all replicas until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Stops deliveries on all replicas for this time. */
  hold(ms: number): Promise<void>;
  /** Newest first. */
  dead(p: { readonly start: number; readonly limit: number }): Promise<readonly DeadDelivery[]>;
  isDead(eventId: string): Promise<boolean>;
  /** Restarts the schedule of a dead delivery. @returns false if there is none with this id */
  redeliver(eventId: string): Promise<boolean>;
  /** The soonest next attempt first. */
  retrying(p: { readonly limit: number }): Promise<readonly RetryingDelivery[]>;
  /**
   * Ids of deliveries that wait for their next attempt since `until` or before, the soonest first.
   * @param p.after `cursor` of the call before
   * @returns without a cursor at the end
   */
  retryable(p: {
    readonly until: number;
    readonly after?: string;
    readonly limit: number;
  }): Promise<{ readonly eventIds: readonly string[]; readonly cursor?: string }>;
  /**
   * Starts the next attempt of a delivery whose last attempt was before `until`, or says how a later one ended. Repeating it is harmless.
   * @returns the attempts before the next one, for `outcomeOf`
   */
  retry(eventId: string, until: number): Promise<Exclude<RetryOutcome, 'waiting'> | { readonly attempts: number }>;
  outcomeOf(eventId: string, attempts: number): Promise<RetryOutcome>;
  close(): Promise<void>;
}

export function openDeliveryQueue(p: {
  readonly endpoint: string;
  readonly redis: QueueRedis;
  readonly onError: (error: unknown) => void;
}): DeliveryQueue {
  const { endpoint, redis, onError } = p;
  const queue = new Queue<unknown>(QUEUE_NAME, {
    connection: redis.connection,
    prefix: redis.prefixOf(endpoint),
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: jobOptions,
  });
  queue.on('error', onError);

  /** Ids and times of the next attempts, as pairs. */
  const delayedFrom = (place: string, limit: number): Promise<string[]> =>
    redis.connection.zrangebyscore(queue.toKey('delayed'), place, '+inf', 'WITHSCORES', 'LIMIT', 0, limit);
  const pairsOf = (reply: readonly string[]) =>
    Array.from({ length: reply.length / 2 }, (_, at) => ({ id: reply[2 * at] ?? '', score: reply[2 * at + 1] ?? '' }));

  async function retryingOf({ id, score }: { id: string; score: string }): Promise<readonly RetryingDelivery[]> {
    const job = await queue.getJob(id);
    const event = jobSchema.safeParse(job?.data);
    // It was attempted meanwhile, or is of a newer release.
    if (job === undefined || !event.success) return [];
    const nextAt = Math.floor(Number(score) / SCORE_PER_MS);
    return [{ endpoint, event: event.data, attempts: job.attemptsMade, nextAt, reason: job.failedReason }];
  }

  const deadOf = (job: Job<unknown>): readonly DeadDelivery[] => {
    const event = jobSchema.safeParse(job.data);
    if (!event.success) return [];
    const { failedReason = 'unknown', attemptsMade, finishedOn = 0 } = job;
    return [{ endpoint, event: event.data, reason: failedReason, attempts: attemptsMade, failedAt: finishedOn }];
  };

  return {
    async add(events) {
      if (events.length === 0) return;
      // The cursor may move on only after Redis can no longer lose these jobs.
      const confirmed = redis.guard(endpoint);
      await queue.addBulk(events.map(event => ({ name: 'deliver', data: event, opts: { jobId: event.eventId } })));
      await confirmed();
    },
    async counts() {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'failed');
      return {
        waiting: counts['wait'] ?? 0,
        underWay: counts['active'] ?? 0,
        delayed: counts['delayed'] ?? 0,
        dead: counts['failed'] ?? 0,
      };
    },
    isPaused: () => queue.isPaused(),
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    hold: ms => queue.rateLimit(ms),
    async dead({ start, limit }) {
      const jobs = await queue.getFailed(start, start + limit - 1);
      return jobs.flatMap(deadOf);
    },
    async isDead(eventId) {
      return (await queue.getJob(eventId))?.isFailed() ?? false;
    },
    async redeliver(eventId) {
      const job = await queue.getJob(eventId);
      if (job === undefined || !(await job.isFailed())) return false;
      await job.retry('failed', { resetAttemptsMade: true });
      return true;
    },
    async retrying({ limit }) {
      const found = await Promise.all(pairsOf(await delayedFrom('-inf', limit)).map(retryingOf));
      return found.flat();
    },
    async retryable({ until, after, limit }) {
      const pairs = pairsOf(await delayedFrom(after === undefined ? '-inf' : `(${after}`, limit));
      const jobs = await Promise.all(pairs.map(({ id }) => queue.getJob(id)));
      const cursor = pairs.length < limit ? undefined : pairs.at(-1)?.score;
      const before = jobs.filter(job => job !== undefined && (job.processedOn ?? 0) <= until);
      return { eventIds: before.flatMap(job => job?.id ?? []), cursor };
    },
    async retry(eventId, until) {
      const job = await queue.getJob(eventId);
      // The queue drops delivered ones first.
      if (job === undefined) return 'delivered';
      if (job.finishedOn !== undefined) {
        if (!(await job.isFailed())) return 'delivered';
        if (job.finishedOn > until) return 'failed';
        await job.retry('failed', { resetAttemptsMade: true });
        return { attempts: 0 };
      }
      if (await job.isDelayed()) {
        if ((job.processedOn ?? 0) > until) return 'failed';
        await job.promote();
      }
      return { attempts: job.attemptsMade };
    },
    async outcomeOf(eventId, attempts) {
      const job = await queue.getJob(eventId);
      if (job === undefined) return 'delivered';
      if (job.finishedOn !== undefined) return (await job.isFailed()) ? 'failed' : 'delivered';
      return job.attemptsMade > attempts ? 'failed' : 'waiting';
    },
    close: () => queue.close(),
  };
}
