import {
  DomainError,
  type JobEnd,
  type JobProgress,
  newOperationId,
  type Stores,
  StoreUnavailableError,
  systemEntropy,
} from '@postern/elicitation';
import type { Logger } from '../platform/logger.ts';
import { periodic } from '../platform/periodic.ts';
import type { Actor, AdminProcess } from './admin-audit.ts';
import { JobFailedError, type JobWorkDeps, withWorkOf } from './job-work.ts';

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
