import type { QueueRedis, RedisWebhookEndpointStore } from '@postern/store-redis';
import { type DeliveryOutcome, deliveryOutcome, isToBeDisabled, retryDelayMs } from '@postern/webhooks';
import { DelayedError, type Job, Worker } from 'bullmq';
import { within } from '../within.ts';
import type { Attempt } from './deliver.ts';
import { type DeliveryQueue, jobSchema, QUEUE_NAME } from './delivery-queue.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';
import type { WebhookEvents } from './webhook-events.ts';

export interface DeliveryWorkerOptions {
  readonly endpoint: WebhookEndpoint;
  readonly redis: QueueRedis;
  readonly queue: DeliveryQueue;
  readonly health: Pick<RedisWebhookEndpointStore, 'read' | 'noteSuccess' | 'noteFailure' | 'disable'>;
  readonly attempt: Attempt;
  readonly events: WebhookEvents;
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  /** Replaces the schedule, in tests. */
  readonly retryDelay?: typeof retryDelayMs;
  /** After a replica was killed, another takes over what it had in hand after about twice as long. Default 10 s. */
  readonly lockMs?: number;
  /** How long a stop waits for answers. Default 4 s. */
  readonly graceMs?: number;
}

export interface DeliveryWorker {
  /** Resolves when nothing is under way any more; what is not answered by then is given up and tried again later. */
  stop(): Promise<void>;
}

/** How long a `Retry-After` holds up everything for an endpoint; the delivery itself waits for as long as was asked. */
const MAX_HOLD_MS = 10 * 60_000;
/**
 * How long a stop waits for BullMQ when no delivery is under way. After a lost connection BullMQ may wait 11 s for a fetch that
 * will never be answered.
 */
const IDLE_STOP_MS = 500;
/** A job of a disabled endpoint that was fetched before its queue was paused. */
const DISABLED_DELAY_MS = 5_000;

/** An attempt that failed; the message is its reason, which is stored. */
class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure';
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Delivers what is queued for one endpoint, at least once: a job is done after the receiver's 2xx, and one that was in the hands
 * of a killed replica is delivered again, under the same id.
 */
export function startDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { endpoint, redis, queue, health, attempt, events, now, random } = options;
  const { retryDelay = retryDelayMs, lockMs = 10_000, graceMs = 4_000 } = options;
  const { name } = endpoint;
  const stopping = new AbortController();
  let underWay = 0;
  const onError = (error: unknown) => {
    if (!stopping.signal.aborted) events.trouble({ endpoint: name, error });
  };

  async function disable(reason: 'gone' | 'failing'): Promise<void> {
    // Written down first: whoever is killed in between has others pause the queue, which they do as long as it is not.
    if (await health.disable(name, { reason, now: now() })) events.disabled({ endpoint: name, reason });
    await queue.pause();
  }

  async function attend(outcome: DeliveryOutcome): Promise<void> {
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
    // Of a newer release, perhaps: another replica may know it.
    if (!event.success) throw new DeliveryFailure('unreadable');
    if ((await health.read(name)).disabled !== undefined) {
      await queue.pause();
      await job.moveToDelayed(now() + DISABLED_DELAY_MS, token);
      throw new DelayedError();
    }
    const outcome = deliveryOutcome(await attempt(event.data, stopping.signal), now());
    // The end of this process says nothing about the receiver.
    if (stopping.signal.aborted && outcome.result === 'failed') throw new DeliveryFailure('stopped');
    // What was answered stands, whether or not it can be noted beside the job.
    await attend(outcome).catch(onError);
    if (outcome.result === 'gone') throw new DeliveryFailure(outcome.reason);
    if (outcome.result === 'failed') throw new DeliveryFailure(outcome.reason, outcome.retryAfterMs);
  }

  /** What BullMQ stores of an error is its message, so that only reasons of ours get there. */
  async function handleInOurWords(job: Job<unknown>, token?: string): Promise<void> {
    underWay += 1;
    try {
      await handle(job, token);
    } catch (error) {
      if (error instanceof DeliveryFailure || error instanceof DelayedError) throw error;
      onError(error);
      throw new DeliveryFailure('internal');
    } finally {
      underWay -= 1;
    }
  }

  const worker = new Worker<unknown, void>(QUEUE_NAME, handleInOurWords, {
    connection: redis.connection,
    prefix: redis.prefixOf(name),
    concurrency: endpoint.concurrency,
    limiter: { max: endpoint.ratePerSecond, duration: 1_000 },
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    // A replica that is killed is no fault of the delivery.
    maxStalledCount: 1_000,
    runRetryDelay: 2_000,
    settings: {
      backoffStrategy: (attemptsMade, _type, error, job) => {
        const retryAfterMs = error instanceof DeliveryFailure ? error.retryAfterMs : undefined;
        const delayMs = retryDelay(attemptsMade, { random: random(), retryAfterMs });
        if (delayMs === undefined) return -1;
        events.postponed({
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
    if (job?.finishedOn !== undefined) events.dead({ endpoint: name, eventId: job.id ?? '', reason: reasonOf(error) });
  });

  return {
    async stop() {
      let isClosed = false;
      const closed = worker.close().then(() => {
        isClosed = true;
      });
      const patienceMs = () => (underWay === 0 ? Math.min(IDLE_STOP_MS, graceMs) : graceMs);
      // Whatever answers within the grace is noted as answered; the rest is given up and comes again.
      await within(closed, patienceMs(), undefined);
      stopping.abort();
      await within(closed, patienceMs(), undefined);
      // Without Redis nothing can be noted, and nobody can be told that we leave: others take over as after a crash.
      if (!isClosed) await within(worker.disconnect().catch(onError), patienceMs(), undefined);
    },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof DeliveryFailure ? error.message : 'internal';
}
