import {
  type Clock,
  definedOnly,
  type ListEntry,
  type NewRevocation,
  type Revocation,
  type RevocationId,
  type RevocationStore,
  type Shard,
  shardIn,
} from '@postern/elicitation';
import type { MemoryLedger } from './memory-ledger.ts';

/** As in Redis: maximum age, and what is charged in addition to the text of a revocation. */
const LIFETIME_MS = 8 * 24 * 3_600_000;
const RECORD_BYTES = 1_024;

interface Row {
  revocation: Revocation;
  dueAt: number;
  leaseEndsAt: number;
}

/** The revocation port in one process. Atomic, because no verb awaits anything. */
export class MemoryRevocationStore implements RevocationStore {
  readonly #now: Clock;
  readonly #ledger: MemoryLedger;
  readonly #rows = new Map<RevocationId, Row>();

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
  }

  /** Keeps only the members that a revocation needs. The argument may be a whole connection. */
  put({ revocationId, owner, subject, provider, resource, account, elicitationId, sealedTokens }: NewRevocation): void {
    if (this.#rows.has(revocationId)) return;
    const createdAt = this.#now();
    const revocation = {
      ...{ revocationId, owner, subject, provider, elicitationId, sealedTokens, createdAt, attempts: 0 },
      ...definedOnly({ resource, account }),
    };
    this.#rows.set(revocationId, { revocation, dueAt: createdAt, leaseEndsAt: 0 });
    const bytes = RECORD_BYTES + Buffer.byteLength(JSON.stringify(revocation));
    const charge = { id: revocationId, endsAt: createdAt + LIFETIME_MS, bytes };
    this.#ledger.charge(shardIn(revocationId), owner, [charge], false);
  }

  /** All revocations, for the lists of operators. */
  entries(): readonly ListEntry[] {
    return [...this.#rows].map(([id, { dueAt }]) => ({ id, at: dueAt }));
  }

  async add(revocation: NewRevocation): Promise<void> {
    this.put(revocation);
  }

  async claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]> {
    const now = this.#now();
    return [...this.#rows.values()]
      .filter(({ revocation, dueAt }) => shardIn(revocation.revocationId) === shard && dueAt <= now)
      .sort((a, b) => a.dueAt - b.dueAt)
      .slice(0, p.limit)
      .map(row => this.#claimed(row, p.leaseMs));
  }

  async claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined> {
    const row = this.#rows.get(revocationId);
    return row === undefined || row.leaseEndsAt > this.#now() ? undefined : this.#claimed(row, leaseMs);
  }

  async finish({ revocationId, owner }: Pick<Revocation, 'revocationId' | 'owner'>): Promise<void> {
    this.#rows.delete(revocationId);
    this.#ledger.release(shardIn(revocationId), owner, revocationId);
  }

  async postpone(revocationId: RevocationId, delayMs: number): Promise<void> {
    const row = this.#rows.get(revocationId);
    if (row === undefined) return;
    row.dueAt = this.#now() + delayMs;
    row.leaseEndsAt = 0;
  }

  #claimed(row: Row, leaseMs: number): Revocation {
    row.revocation = { ...row.revocation, attempts: row.revocation.attempts + 1 };
    row.leaseEndsAt = this.#now() + leaseMs;
    row.dueAt = row.leaseEndsAt;
    return row.revocation;
  }
}
