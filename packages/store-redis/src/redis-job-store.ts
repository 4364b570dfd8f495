import {
  doors,
  ENDED_JOBS_MS,
  type JobStore,
  jobEnds,
  MAX_UNFINISHED_JOBS,
  newOperationId,
  type StoredJob,
  systemEntropy,
} from '@postern/elicitation';
import { z } from 'zod';
import { connectionId, decode, encode, subject, text, time } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './script.ts';

const count = z.int().nonnegative();
const progressSchema = z.object({
  found: count,
  done: count,
  delivered: count.optional(),
  failedAgain: count.optional(),
  unreadable: count,
  share: z.number().min(0).max(1),
  cursor: text,
  pending: z.array(text),
  failures: count,
  error: text.optional(),
});
const aboutSchema = z.object({
  verb: z.enum(['disconnect', 'redeliver']),
  target: z.object({
    connectionId: connectionId.optional(),
    subject: text.optional(),
    provider: text.optional(),
    mcpServerId: text.optional(),
    endpoint: text.optional(),
    since: time.optional(),
  }),
  by: text,
  door: z.enum(doors),
  reason: text.optional(),
});
const endSchema = z.enum(jobEnds);

const FIELDS = ['about', 'person', 'createdAt', 'updatedAt', 'lease', 'progress', 'status', 'endedAt'];

/** All jobs are in one slot. */
export class RedisJobStore extends RedisPort implements JobStore {
  async start(p: Parameters<JobStore['start']>[0]): Promise<number | undefined> {
    const reply = await this.repeatable(
      'startJob',
      { job: this.keys.job(p.jobId), unfinishedJobs: this.keys.unfinishedJobs },
      {
        jobId: p.jobId,
        about: encode(p.about),
        person: p.person && encode(p.person),
        max: MAX_UNFINISHED_JOBS,
      },
    );
    const [result, createdAt] = listOf(reply);
    if (result === 'full') return undefined;
    if (result !== 'started') throw unknownResult();
    return numberOf(createdAt);
  }

  async claim(p: Parameters<JobStore['claim']>[0]): Promise<StoredJob | undefined> {
    const reply = await this.repeatable(
      'claimJob',
      { job: this.keys.job(p.jobId) },
      { holder: p.holder, leaseMs: p.leaseMs },
    );
    return listOf(reply)[0] === 'claimed' ? this.read(p.jobId) : undefined;
  }

  async move(p: Parameters<JobStore['move']>[0]): Promise<boolean> {
    const reply = await this.repeatable(
      'moveJob',
      { job: this.keys.job(p.jobId) },
      { holder: p.holder, leaseMs: p.leaseMs, progress: encode({ ...p.progress }) },
    );
    return listOf(reply)[0] === 'moved';
  }

  async end(p: Parameters<JobStore['end']>[0]): Promise<boolean> {
    const reply = await this.repeatable(
      'endJob',
      {
        job: this.keys.job(p.jobId),
        unfinishedJobs: this.keys.unfinishedJobs,
        endedJobs: this.keys.endedJobs,
      },
      {
        holder: p.holder,
        jobId: p.jobId,
        status: p.status,
        progress: p.progress && encode({ ...p.progress }),
        retentionMs: ENDED_JOBS_MS,
        call: newOperationId(systemEntropy),
      },
    );
    return listOf(reply)[0] === 'ended';
  }

  async unfinished(): Promise<readonly string[]> {
    return listOf(await this.link.call('zrange', this.keys.unfinishedJobs, 0, -1)).map(textOf);
  }

  async ended(limit: number): Promise<readonly string[]> {
    return listOf(await this.link.call('zrange', this.keys.endedJobs, 0, limit - 1, 'REV')).map(textOf);
  }

  async read(jobId: string): Promise<StoredJob | undefined> {
    const found = listOf(await this.link.call('hmget', this.keys.job(jobId), ...FIELDS));
    const [about, person, createdAt, updatedAt, lease, progress, status, endedAt] = found;
    if (isAbsent(about)) return undefined;
    return {
      jobId,
      about: decode(aboutSchema, textOf(about)),
      createdAt: numberOf(createdAt),
      updatedAt: numberOf(updatedAt),
      isHeld: !isAbsent(lease),
      person: isAbsent(person) ? undefined : decode(subject, textOf(person)),
      progress: isAbsent(progress) ? undefined : decode(progressSchema, textOf(progress)),
      ended: isAbsent(endedAt) ? undefined : { status: endSchema.parse(status), at: numberOf(endedAt) },
    };
  }
}
