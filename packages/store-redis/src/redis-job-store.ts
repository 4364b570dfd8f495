import { type ConnectionId, definedOnly, newOperationId, type Subject, systemEntropy } from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { connectionId, decode, encode, subject, text, time } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf, unknownResult } from './reply.ts';

/** How far a job is. Only the replica that holds the job reads `cursor` and `pending`. */
export interface JobProgress {
  /** Records that the job concerns, as far as it has looked. */
  readonly found: number;
  /** Of those, the ones that are done. */
  readonly done: number;
  /** Of a redelivery: how many of those the receiver has accepted since, and how many have failed again. */
  readonly delivered?: number;
  readonly failedAgain?: number;
  /** Records that this release cannot read. */
  readonly unreadable: number;
  /** Share of the search that is done, 0 to 1. */
  readonly share: number;
  /** Where the search continues. */
  readonly cursor: string;
  /** Ids that are found but not known to be done: after a crash, some of them may be. */
  readonly pending: readonly string[];
  /** Failed attempts since the last progress. */
  readonly failures: number;
  /** Code of the last failure. */
  readonly error?: string;
}

export type JobEnd = 'done' | 'failed' | 'cancelled';

const doors = ['console', 'admin_api', 'command_line'] as const;

/** What an operator started, without the data of a person. */
export interface JobAbout {
  readonly verb: 'disconnect' | 'redeliver';
  readonly target: JobTarget;
  /** Name of the operator. */
  readonly by: string;
  readonly door: (typeof doors)[number];
  readonly reason?: string;
}

interface JobTarget {
  readonly connectionId?: ConnectionId;
  /** Pseudonym. */
  readonly subject?: string;
  readonly provider?: string;
  readonly mcpServerId?: string;
  readonly endpoint?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
}

export interface StoredJob {
  readonly jobId: string;
  readonly about: JobAbout;
  /** Until the job ends. */
  readonly person?: Subject;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Whether a replica has the lease, or had it when it was killed. */
  readonly isHeld: boolean;
  readonly progress?: JobProgress;
  readonly ended?: { readonly status: JobEnd; readonly at: number };
}

const count = z.int().nonnegative();
const progressSchema = z.object({
  found: count,
  done: count,
  delivered: count.exactOptional(),
  failedAgain: count.exactOptional(),
  unreadable: count,
  share: z.number().min(0).max(1),
  cursor: text,
  pending: z.array(text),
  failures: count,
  error: text.exactOptional(),
});
const aboutSchema = z.object({
  verb: z.enum(['disconnect', 'redeliver']),
  target: z.object({
    connectionId: connectionId.exactOptional(),
    subject: text.exactOptional(),
    provider: text.exactOptional(),
    mcpServerId: text.exactOptional(),
    endpoint: text.exactOptional(),
    since: time.exactOptional(),
  }),
  by: text,
  door: z.enum(doors),
  reason: text.exactOptional(),
});
const endSchema = z.enum(['done', 'failed', 'cancelled']);

const MAX_UNFINISHED = 100;
/** Ended jobs stay this long. Their audit lines stay as long as the audit trail. */
const RETENTION_MS = 30 * 24 * 3_600_000;
const FIELDS = ['about', 'person', 'createdAt', 'updatedAt', 'lease', 'progress', 'status', 'endedAt'];

/**
 * Jobs that operators start and replicas work on. All are in one slot. Work under a lease must be safe even if two replicas do it. All
 * methods throw StoreUnavailableError.
 */
export class RedisJobStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** Returns the time of the start, or undefined if too many jobs are unfinished. */
  async start(p: {
    readonly jobId: string;
    readonly about: JobAbout;
    readonly person?: Subject;
  }): Promise<number | undefined> {
    const person = p.person === undefined ? '' : encode(p.person);
    const values = [this.#link.clock(), p.jobId, encode(p.about), person, MAX_UNFINISHED];
    const reply = await this.#link.run('startJob', [this.#keys.job(p.jobId), this.#keys.unfinishedJobs], values, {
      repeatable: true,
    });
    const [result, createdAt] = listOf(reply);
    if (result === 'full') return undefined;
    if (result !== 'started') throw unknownResult();
    return numberOf(createdAt);
  }

  /** Returns the job if the holder now has its lease, new or extended. */
  async claim(p: {
    readonly jobId: string;
    readonly holder: string;
    readonly leaseMs: number;
  }): Promise<StoredJob | undefined> {
    const values = [this.#link.clock(), p.holder, p.leaseMs];
    const reply = await this.#link.run('claimJob', [this.#keys.job(p.jobId)], values, { repeatable: true });
    return listOf(reply)[0] === 'claimed' ? this.read(p.jobId) : undefined;
  }

  /** Returns false if the job has ended or another replica has it: the caller must stop. @param p.leaseMs 0 releases the job */
  async move(p: {
    readonly jobId: string;
    readonly holder: string;
    readonly leaseMs: number;
    readonly progress: JobProgress;
  }): Promise<boolean> {
    const values = [this.#link.clock(), p.holder, p.leaseMs, encode({ ...p.progress })];
    const reply = await this.#link.run('moveJob', [this.#keys.job(p.jobId)], values, { repeatable: true });
    return listOf(reply)[0] === 'moved';
  }

  /** Returns false if the job had ended before, or another replica has it. @param p.holder absent if an operator ends it */
  async end(p: {
    readonly jobId: string;
    readonly holder?: string;
    readonly status: JobEnd;
    readonly progress?: JobProgress;
  }): Promise<boolean> {
    const progress = p.progress === undefined ? '' : encode({ ...p.progress });
    const reply = await this.#link.run(
      'endJob',
      [this.#keys.job(p.jobId), this.#keys.unfinishedJobs, this.#keys.endedJobs],
      [
        ...[this.#link.clock(), p.holder ?? '', p.jobId, p.status, progress, RETENTION_MS],
        newOperationId(systemEntropy),
      ],
      { repeatable: true },
    );
    return listOf(reply)[0] === 'ended';
  }

  /** Oldest first. */
  async unfinished(): Promise<readonly string[]> {
    return listOf(await this.#link.call('zrange', this.#keys.unfinishedJobs, 0, -1)).map(textOf);
  }

  /** The last to end first. */
  async ended(limit: number): Promise<readonly string[]> {
    return listOf(await this.#link.call('zrange', this.#keys.endedJobs, 0, limit - 1, 'REV')).map(textOf);
  }

  /** @throws TypeError for text that is no job id, DomainError `unknown_record_layout` */
  async read(jobId: string): Promise<StoredJob | undefined> {
    const found = listOf(await this.#link.call('hmget', this.#keys.job(jobId), ...FIELDS));
    const [about, person, createdAt, updatedAt, lease, progress, status, endedAt] = found;
    if (isAbsent(about)) return undefined;
    return {
      jobId,
      about: decode(aboutSchema, textOf(about)),
      createdAt: numberOf(createdAt),
      updatedAt: numberOf(updatedAt),
      isHeld: !isAbsent(lease),
      ...definedOnly({
        person: isAbsent(person) ? undefined : decode(subject, textOf(person)),
        progress: isAbsent(progress) ? undefined : decode(progressSchema, textOf(progress)),
        ended: isAbsent(endedAt) ? undefined : { status: endSchema.parse(status), at: numberOf(endedAt) },
      }),
    };
  }
}
