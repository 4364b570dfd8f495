import type { RefreshBatch, RefreshCount, RefreshCountStore } from '@postern/elicitation';
import type { Database } from './database.ts';
import { joined, Records } from './records.ts';

export class SqliteRefreshCounts implements RefreshCountStore {
  readonly #database: Database;
  readonly #retentionMs: number;
  readonly #rows: Records<RefreshCount & { readonly whose: string }>;
  /** The last batch of each writer, for its repeats. */
  readonly #batches: Records<{ readonly operationId: string; readonly endsAt: number }>;

  constructor(database: Database, { retentionMs }: { readonly retentionMs: number }) {
    this.#database = database;
    this.#retentionMs = retentionMs;
    this.#rows = new Records(database, 'refresh count', ({ whose, at }) => ({
      whose,
      rank: at,
      endsAt: at + retentionMs,
    }));
    this.#batches = new Records(database, 'refresh batch', ({ endsAt }) => ({ endsAt }));
  }

  async add(writer: string, { provider, day, operationId, counts }: RefreshBatch): Promise<void> {
    const whose = joined(provider, day);
    this.#database.commit(() => {
      if (this.#batches.get(joined(writer, whose))?.operationId === operationId) return;
      this.#batches.put(joined(writer, whose), { operationId, endsAt: this.#database.now() + this.#retentionMs });
      for (const { count, ...of } of counts) {
        const id = joined(whose, String(of.at), of.outcome, of.code);
        this.#rows.put(id, { ...of, count: (this.#rows.get(id)?.count ?? 0) + count, whose });
      }
    });
  }

  async read(provider: string, day: string): Promise<readonly RefreshCount[]> {
    return this.#rows.of(joined(provider, day)).map(({ whose: _, ...count }) => count);
  }
}
