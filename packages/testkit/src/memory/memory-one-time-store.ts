import type { Clock, ConsumeResult, OneTimeRecord, OneTimeStore, Shard } from '@postern/elicitation';

export const SPENT_MS = 10 * 60_000;

export class MemoryOneTimeStore implements OneTimeStore {
  readonly #now: Clock;
  readonly #records = new Map<string, { record: OneTimeRecord; isSpent: boolean; expiresAt: number }>();
  readonly #claims = new Map<string, number>();

  constructor(now: Clock) {
    this.#now = now;
  }

  put(shard: Shard, record: OneTimeRecord, ttlMs: number): void {
    this.#records.set(`${shard}:${record.digest}`, { record, isSpent: false, expiresAt: this.#now() + ttlMs });
  }

  async read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined> {
    const row = this.#row(shard, digest);
    return row && !row.isSpent ? row.record : undefined;
  }

  async consume(shard: Shard, digest: string): Promise<ConsumeResult> {
    const row = this.#row(shard, digest);
    if (!row) return { result: 'unknown' };
    const { sealed: _, ...record } = row.record;
    if (row.isSpent) return { result: 'spent', record };
    row.isSpent = true;
    row.expiresAt = Math.max(row.expiresAt, this.#now() + SPENT_MS);
    return { result: 'taken', record: row.record };
  }

  async claim(digest: string, ttlMs: number): Promise<boolean> {
    if ((this.#claims.get(digest) ?? 0) > this.#now()) return false;
    this.#claims.set(digest, this.#now() + ttlMs);
    return true;
  }

  #row(shard: Shard, digest: string) {
    const row = this.#records.get(`${shard}:${digest}`);
    return row && row.expiresAt > this.#now() ? row : undefined;
  }
}
