import { assertJobId, ENDED_JOBS_MS, type JobStore, MAX_UNFINISHED_JOBS, type StoredJob } from '@postern/elicitation';
import type { Database } from './database.ts';
import { isRunning, Records, type Span } from './records.ts';

type Row = Omit<StoredJob, 'isHeld'> & { readonly lease?: Span & { readonly holder: string } };

export class SqliteJobStore implements JobStore {
  readonly #database: Database;
  readonly #rows: Records<Row>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Records(database, 'job', ({ createdAt, ended }) =>
      ended === undefined
        ? { whose: 'unfinished', rank: createdAt }
        : { whose: 'ended', rank: ended.at, endsAt: ended.at + ENDED_JOBS_MS },
    );
  }

  async start({ jobId, about, person }: Parameters<JobStore['start']>[0]): Promise<number | undefined> {
    return this.#database.commit(() => {
      const known = this.#get(jobId);
      if (known !== undefined) return known.createdAt;
      if (this.#rows.sumOf('unfinished').count >= MAX_UNFINISHED_JOBS) return undefined;
      const now = this.#database.now();
      this.#rows.put(jobId, { jobId, about, person, createdAt: now, updatedAt: now });
      return now;
    });
  }

  async claim({ jobId, holder, leaseMs }: Parameters<JobStore['claim']>[0]): Promise<StoredJob | undefined> {
    return this.#database.commit(() => {
      const row = this.#get(jobId);
      if (row === undefined || row.ended !== undefined) return undefined;
      const now = this.#database.now();
      if (row.lease?.holder !== holder && isRunning(row.lease, now)) return undefined;
      const claimed = { ...row, lease: { holder, from: now, endsAt: now + leaseMs } };
      this.#rows.put(jobId, claimed);
      return jobIn(claimed);
    });
  }

  async move({ jobId, holder, leaseMs, progress }: Parameters<JobStore['move']>[0]): Promise<boolean> {
    return this.#database.commit(() => {
      const row = this.#get(jobId);
      if (row === undefined || row.ended !== undefined || row.lease?.holder !== holder) return false;
      const { lease: _, ...rest } = row;
      const updatedAt = this.#database.now();
      const lease = leaseMs === 0 ? undefined : { holder, from: updatedAt, endsAt: updatedAt + leaseMs };
      this.#rows.put(jobId, { ...rest, progress, updatedAt, lease });
      return true;
    });
  }

  async end({ jobId, holder, status, progress }: Parameters<JobStore['end']>[0]): Promise<boolean> {
    return this.#database.commit(() => {
      const row = this.#get(jobId);
      if (row === undefined || row.ended !== undefined) return false;
      if (holder !== undefined && row.lease?.holder !== holder) return false;
      const { person: _, lease: __, ...rest } = row;
      const at = this.#database.now();
      this.#rows.put(jobId, { ...rest, progress: progress ?? rest.progress, updatedAt: at, ended: { status, at } });
      return true;
    });
  }

  async unfinished(): Promise<readonly string[]> {
    return this.#rows.of('unfinished').map(({ jobId }) => jobId);
  }

  async ended(limit: number): Promise<readonly string[]> {
    return this.#rows.newestOf('ended', { limit }).map(({ jobId }) => jobId);
  }

  async read(jobId: string): Promise<StoredJob | undefined> {
    const row = this.#get(jobId);
    return row && jobIn(row);
  }

  #get(jobId: string): Row | undefined {
    assertJobId(jobId);
    return this.#rows.get(jobId);
  }
}

const jobIn = ({ lease, ...job }: Row): StoredJob => ({ ...job, isHeld: lease !== undefined });
