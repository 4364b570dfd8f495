import {
  type ConsumeResult,
  MAX_USED_VALUES,
  type OneTimeRecord,
  type OneTimeStore,
  type Shard,
  SPENT_MS,
  shardOfDigest,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Records } from './records.ts';

interface Row {
  readonly record: Omit<OneTimeRecord, 'sealed'>;
  /** Absent once it is taken. */
  readonly sealed?: string;
  readonly endsAt: number;
}

export class SqliteOneTimeStore implements OneTimeStore {
  readonly #database: Database;
  readonly #rows: Records<Row>;
  readonly #claims: Records<{ readonly endsAt: number }>;
  readonly #used: Records<{ readonly id: string; readonly whose: string; readonly endsAt: number }>;
  /** Values of a kind and shard that end here or earlier are refused. */
  readonly #floors: Records<{ readonly endsAt: number }>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Records(database, 'one-time', ({ endsAt }) => ({ endsAt }));
    this.#claims = new Records(database, 'claim', row => row);
    this.#used = new Records(database, 'used', ({ whose, endsAt }) => ({ whose, endsAt, rank: endsAt }));
    this.#floors = new Records(database, 'used floor', row => row);
  }

  /** Called within a commit. */
  put(
    shard: Shard,
    p: { readonly record: OneTimeRecord; readonly ttlMs: number; readonly replaced: string | undefined },
  ): void {
    const { sealed, ...record } = p.record;
    const now = this.#database.now();
    const formerId = idOf(shard, p.replaced ?? '');
    const former = this.#rows.get(formerId);
    if (former !== undefined) this.#rows.put(formerId, { record: former.record, endsAt: now + SPENT_MS });
    this.#rows.put(idOf(shard, record.digest), { record, sealed, endsAt: now + p.ttlMs });
  }

  async read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined> {
    const row = this.#rows.get(idOf(shard, digest));
    return row?.sealed === undefined ? undefined : { ...row.record, sealed: row.sealed };
  }

  async consume(shard: Shard, digest: string): Promise<ConsumeResult> {
    return this.#database.commit(() => {
      const row = this.#rows.get(idOf(shard, digest));
      if (!row) return { result: 'unknown' };
      const { record, sealed } = row;
      if (sealed === undefined) return { result: 'spent', record };
      const endsAt = Math.max(row.endsAt, this.#database.now() + SPENT_MS);
      this.#rows.put(idOf(shard, digest), { record, endsAt });
      return { result: 'taken', record: { ...record, sealed } };
    });
  }

  async claim(digest: string, ttlMs: number): Promise<boolean> {
    return this.#database.commit(() => {
      if (this.#claims.get(digest) !== undefined) return false;
      this.#claims.put(digest, { endsAt: this.#database.now() + ttlMs });
      return true;
    });
  }

  async spend({ kind, digest, expiresAt }: Parameters<OneTimeStore['spend']>[0]): Promise<boolean> {
    return this.#database.commit(() => {
      const whose = `${kind} ${shardOfDigest(digest)}`;
      const id = `${kind} ${digest}`;
      if (this.#used.get(id) !== undefined || expiresAt <= (this.#floors.get(whose)?.endsAt ?? 0)) return false;
      this.#used.put(id, { id, whose, endsAt: expiresAt });
      const [first] = this.#used.sumOf(whose).count > MAX_USED_VALUES ? this.#used.of(whose, { limit: 1 }) : [];
      if (first !== undefined) {
        this.#used.delete(first.id);
        this.#floors.put(whose, { endsAt: first.endsAt });
      }
      return true;
    });
  }
}

const idOf = (shard: Shard, digest: string) => `${shard} ${digest}`;
