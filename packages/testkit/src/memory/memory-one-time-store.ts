import {
  type Clock,
  type ConsumeResult,
  type OneTimeRecord,
  type OneTimeStore,
  type Shard,
  shardOfDigest,
  type UsedKind,
} from '@postern/elicitation';

export const SPENT_MS = 10 * 60_000;
const REPLACED_MS = 60_000;
const MOST_USED = 512;

export class MemoryOneTimeStore implements OneTimeStore {
  readonly #now: Clock;
  readonly #records = new Map<string, { record: OneTimeRecord; isSpent: boolean; expiresAt: number }>();
  readonly #claims = new Map<string, number>();
  readonly #used = new Map<string, Map<string, number>>();
  readonly #floors = new Map<string, number>();

  constructor(now: Clock) {
    this.#now = now;
  }

  put(shard: Shard, record: OneTimeRecord, ttlMs: number, replaced?: string): void {
    const former = this.#row(shard, replaced ?? '');
    if (former !== undefined) Object.assign(former, { isSpent: true, expiresAt: this.#now() + REPLACED_MS });
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

  async spend(p: { readonly kind: UsedKind; readonly digest: string; readonly expiresAt: number }): Promise<boolean> {
    const shard = `${p.kind} ${shardOfDigest(p.digest)}`;
    const used = this.#used.get(shard) ?? new Map<string, number>();
    if (used.has(p.digest) || p.expiresAt <= (this.#floors.get(shard) ?? 0)) return false;
    used.set(p.digest, p.expiresAt);
    const [first] = [...used].sort(([, one], [, other]) => one - other);
    if (used.size > MOST_USED && first !== undefined) {
      used.delete(first[0]);
      this.#floors.set(shard, first[1]);
    }
    this.#used.set(shard, used);
    return true;
  }

  #row(shard: Shard, digest: string) {
    const row = this.#records.get(`${shard}:${digest}`);
    return row && row.expiresAt > this.#now() ? row : undefined;
  }
}
