import {
  type NewRevocation,
  REVOCATION_LIFETIME_MS,
  type Revocation,
  type RevocationId,
  type RevocationStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Ledger } from './ledger.ts';
import { listOf, Records } from './records.ts';

/** Charged in addition to the text of a revocation. */
const RECORD_BYTES = 1_024;

export interface RevocationRow {
  readonly revocation: Revocation;
  readonly dueAt: number;
  readonly leaseEndsAt: number;
}

export class SqliteRevocationStore implements RevocationStore {
  readonly #database: Database;
  readonly #ledger: Ledger;
  readonly #rows: Records<RevocationRow>;

  constructor(database: Database, ledger: Ledger) {
    this.#database = database;
    this.#ledger = ledger;
    this.#rows = new Records(database, 'revocation', ({ revocation: { revocationId, createdAt }, dueAt }) => ({
      endsAt: createdAt + REVOCATION_LIFETIME_MS,
      list: listOf('revocations', shardIn(revocationId)),
      rank: dueAt,
    }));
  }

  /** Called within a commit. Keeps only the members that a revocation needs. The argument may be a whole connection. */
  put({ revocationId, owner, subject, provider, resource, account, elicitationId, sealedTokens }: NewRevocation): void {
    if (this.#rows.get(revocationId) !== undefined) return;
    const createdAt = this.#database.now();
    const revocation = {
      revocationId,
      owner,
      subject,
      provider,
      elicitationId,
      sealedTokens,
      createdAt,
      attempts: 0,
      resource,
      account,
    };
    this.#rows.put(revocationId, { revocation, dueAt: createdAt, leaseEndsAt: 0 });
    const bytes = RECORD_BYTES + Buffer.byteLength(JSON.stringify(revocation));
    const charge = { id: revocationId, endsAt: createdAt + REVOCATION_LIFETIME_MS, bytes };
    this.#ledger.charge(shardIn(revocationId), owner, [charge], false);
  }

  async add(revocation: NewRevocation): Promise<void> {
    this.#database.commit(() => this.put(revocation));
  }

  async claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]> {
    return this.#database.commit(() =>
      this.#rows.due(listOf('revocations', shard), p.limit).map(row => this.#claimed(row, p.leaseMs)),
    );
  }

  async claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined> {
    return this.#database.commit(() => {
      const row = this.#rows.get(revocationId);
      return row === undefined || row.leaseEndsAt > this.#database.now() ? undefined : this.#claimed(row, leaseMs);
    });
  }

  async finish({ revocationId, owner }: Pick<Revocation, 'revocationId' | 'owner'>): Promise<void> {
    this.#database.commit(() => {
      this.#rows.delete(revocationId);
      this.#ledger.release(shardIn(revocationId), owner, revocationId);
    });
  }

  async postpone(revocationId: RevocationId, delayMs: number): Promise<void> {
    this.#database.commit(() => {
      const row = this.#rows.get(revocationId);
      if (row) this.#rows.put(revocationId, { ...row, dueAt: this.#database.now() + delayMs, leaseEndsAt: 0 });
    });
  }

  #claimed(row: RevocationRow, leaseMs: number): Revocation {
    const revocation = { ...row.revocation, attempts: row.revocation.attempts + 1 };
    const leaseEndsAt = this.#database.now() + leaseMs;
    this.#rows.put(revocation.revocationId, { revocation, leaseEndsAt, dueAt: leaseEndsAt });
    return revocation;
  }
}
