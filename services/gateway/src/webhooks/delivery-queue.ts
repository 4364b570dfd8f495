import { kinds } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import { DELIVERY_ATTEMPTS, type WebhookEvent } from '@postern/webhooks';
import { type Job, type JobsOptions, Queue } from 'bullmq';
import { z } from 'zod';

/** The queues of all endpoints have one name; their prefixes, with a hash tag in each, keep them apart. */
export const QUEUE_NAME = 'deliveries';

const HOUR_S = 3600;

/** Delivered ones are remembered so that queueing them twice is harmless; undeliverable ones so that somebody can look. */
const jobOptions: JobsOptions = {
  attempts: DELIVERY_ATTEMPTS,
  backoff: { type: 'schedule' },
  removeOnComplete: { age: HOUR_S, count: 1_000 },
  removeOnFail: { age: 30 * 24 * HOUR_S, count: 10_000 },
  stackTraceLimit: 0,
  keepLogs: 0,
};

/**
 * A job holds the event and nothing else: URL and keys are configuration, taken when it is delivered. Of a newer release it may
 * hold more, which is left out.
 */
export const jobSchema = z.object({
  eventId: z.string(),
  elicitationId: z.string(),
  mcpServerId: z.string(),
  kind: z.enum(kinds),
  status: z.enum(['pending', 'active', 'verifying', 'completed', 'declined', 'failed', 'cancelled', 'expired']),
  occurredAt: z.number(),
}) satisfies z.ZodType<WebhookEvent>;

export interface DeadDelivery {
  readonly endpoint: string;
  readonly event: WebhookEvent;
  /** Of the last attempt. */
  readonly reason: string;
  readonly attempts: number;
  readonly failedAt: number;
}

export interface QueueCounts {
  /** Never tried, or due now. */
  readonly waiting: number;
  readonly underWay: number;
  /** Waiting for another attempt. */
  readonly delayed: number;
  readonly dead: number;
}

/** What waits to be delivered to one endpoint. */
export interface DeliveryQueue {
  /** Adding an event that is there already changes nothing. @throws StoreUnavailableError while it may still be lost */
  add(events: readonly WebhookEvent[]): Promise<void>;
  counts(): Promise<QueueCounts>;
  isPaused(): Promise<boolean>;
  /** Nothing more leaves it, on any replica, until it is resumed. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Nothing more leaves it, on any replica, for so long. */
  hold(ms: number): Promise<void>;
  /** Newest first. */
  dead(p: { readonly start: number; readonly limit: number }): Promise<readonly DeadDelivery[]>;
  /** Begins the schedule anew. False when there is no such dead delivery. */
  redeliver(eventId: string): Promise<boolean>;
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

  const deadOf = (job: Job<unknown>): readonly DeadDelivery[] => {
    const event = jobSchema.safeParse(job.data);
    if (!event.success) return [];
    const { failedReason = 'unknown', attemptsMade, finishedOn = 0 } = job;
    return [{ endpoint, event: event.data, reason: failedReason, attempts: attemptsMade, failedAt: finishedOn }];
  };

  return {
    async add(events) {
      if (events.length === 0) return;
      // Its cursor, which lies with everything else, moves on only when these cannot be lost any more.
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
    async redeliver(eventId) {
      const job = await queue.getJob(eventId);
      if (job === undefined || !(await job.isFailed())) return false;
      await job.retry('failed', { resetAttemptsMade: true });
      return true;
    },
    close: () => queue.close(),
  };
}
