import {
  type Elicitation,
  IDEMPOTENCY_RETENTION_MS,
  type IdempotencyKey,
  type IdempotencyStore,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Charge, Ledger } from './ledger.ts';
import { Records } from './records.ts';

const RECORD_BYTES = 256;

/** A stored response, or an elicitation in its initial state. */
type Answer = string | Elicitation;

interface Row {
  readonly fingerprint: string;
  readonly answer: Answer;
  readonly endsAt: number;
}

export class SqliteIdempotencyStore implements IdempotencyStore {
  readonly #database: Database;
  readonly #ledger: Ledger;
  readonly #rows: Records<Row>;

  constructor(database: Database, ledger: Ledger) {
    this.#database = database;
    this.#ledger = ledger;
    this.#rows = new Records(database, 'idempotency key', ({ endsAt }) => ({ endsAt }));
  }

  async put(p: Parameters<IdempotencyStore['put']>[0]): ReturnType<IdempotencyStore['put']> {
    return this.#database.commit(() => {
      if (this.find(p)) return { result: 'exists' };
      const overQuota = this.#ledger.admit(p.shard, p.mcpServerId, [this.chargeFor(p, p.response)], p.quota);
      if (overQuota) return overQuota;
      this.set(p, p.response);
      return { result: 'stored' };
    });
  }

  find({ digest }: IdempotencyKey): Row | undefined {
    return this.#rows.get(digest);
  }

  /** Called within a commit. */
  set({ digest, fingerprint }: IdempotencyKey, answer: Answer): void {
    this.#rows.put(digest, { fingerprint, answer, endsAt: this.#database.now() + IDEMPOTENCY_RETENTION_MS });
  }

  chargeFor({ digest }: IdempotencyKey, response = ''): Charge {
    const bytes = RECORD_BYTES + Buffer.byteLength(response);
    return { id: digest, endsAt: this.#database.now() + IDEMPOTENCY_RETENTION_MS, bytes };
  }
}
