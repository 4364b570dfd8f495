import { type OverQuota, type Shard, type StorageQuota, shareOf } from '@postern/elicitation';
import type { Database } from './database.ts';
import { Records } from './records.ts';

const HOUR_MS = 3_600_000;

export interface Charge {
  /** Replaces the earlier charge of this id. */
  readonly id: string;
  /** `Infinity` for a lasting record. */
  readonly endsAt: number;
  readonly bytes: number;
}

interface Row {
  readonly scope: string;
  /** Absent for a lasting record. */
  readonly endsAt?: number;
  readonly bytes: number;
}

/**
 * The records of each MCP server in each shard, until the hour after their expiry. Sizes approximate those of Redis. Every verb runs
 * within the commit of the record that it charges; the quota bounds what it adds up.
 */
export class Ledger {
  readonly #database: Database;
  readonly #charges: Records<Row>;
  readonly #shares: Records<StorageQuota>;

  constructor(database: Database) {
    this.#database = database;
    this.#charges = new Records(database, 'charge', ({ scope, endsAt, bytes }) => ({
      whose: scope,
      endsAt,
      rank: bytes,
    }));
    this.#shares = new Records(database, 'share');
  }

  bytesOf(shard: Shard, mcpServerId: string, id: string): number {
    return this.#charges.get(keyOf(scopeOf(shard, mcpServerId), id))?.bytes ?? 0;
  }

  /** Charges new records, up to seven eighths of the share; the rest is for the users' answers and sessions. All or nothing. */
  admit(
    shard: Shard,
    mcpServerId: string,
    charges: readonly Charge[],
    quota: StorageQuota,
    eighths = 7,
  ): OverQuota | undefined {
    const share = shareOf(quota);
    const refused = this.#charge(shard, mcpServerId, charges, { share, eighths });
    if (!refused) this.#shares.put(scopeOf(shard, mcpServerId), share);
    return refused;
  }

  /**
   * Whether a lasting record fits: a new one in half of the share that `mcpServerId` has, a larger one in place of another in two eighths
   * more.
   */
  refuseLasting(
    shard: Shard,
    mcpServerId: string,
    { owner, id, bytes }: { readonly owner: string; readonly id: string; readonly bytes: number },
    share = this.#shares.get(scopeOf(shard, mcpServerId)),
  ): OverQuota | undefined {
    const before = this.bytesOf(shard, owner, id);
    if (share === undefined || bytes <= before) return undefined;
    const { lasting, firstEnd } = this.#charges.sumOf(scopeOf(shard, owner));
    const count = lasting.count + (before === 0 ? 1 : 0);
    const part = before === 0 ? 4 / 8 : 6 / 8;
    const fits = count <= share.records * part && lasting.total - before + bytes <= share.bytes * part;
    return fits ? undefined : this.#overQuota(firstEnd);
  }

  /** Reverses the charge of a record. */
  release(shard: Shard, mcpServerId: string, id: string): void {
    this.#charges.delete(keyOf(scopeOf(shard, mcpServerId), id));
  }

  /**
   * Applies all charges or none. If `mayRefuse`, they must fit the last known share.
   * @param replaced id of a record that the new ones replace
   */
  charge(
    shard: Shard,
    mcpServerId: string,
    charges: readonly Charge[],
    mayRefuse: boolean,
    replaced?: string,
  ): OverQuota | undefined {
    const share = mayRefuse ? this.#shares.get(scopeOf(shard, mcpServerId)) : undefined;
    return this.#charge(shard, mcpServerId, charges, share && { share, eighths: 8 }, replaced);
  }

  #charge(
    shard: Shard,
    mcpServerId: string,
    charges: readonly Charge[],
    limit: { readonly share: StorageQuota; readonly eighths: number } | undefined,
    replaced = '',
  ): OverQuota | undefined {
    const scope = scopeOf(shard, mcpServerId);
    const freed = charges.some(({ id }) => id === replaced) ? 0 : this.bytesOf(shard, mcpServerId, replaced);
    if (limit !== undefined) {
      const { share, eighths } = limit;
      const kept = this.#charges.sumOf(scope);
      const before = charges.map(({ id }) => this.bytesOf(shard, mcpServerId, id));
      const count = kept.count + before.filter(bytes => bytes === 0).length - (freed === 0 ? 0 : 1);
      const total = charges.reduce((sum, { bytes }, at) => sum + bytes - (before[at] ?? 0), kept.total - freed);
      if (count > (share.records * eighths) / 8 || total > (share.bytes * eighths) / 8)
        return this.#overQuota(kept.firstEnd);
    }
    if (freed > 0) this.release(shard, mcpServerId, replaced);
    for (const { id, endsAt, bytes } of charges)
      this.#charges.put(keyOf(scope, id), {
        ...{ scope, bytes },
        ...(endsAt === Infinity ? {} : { endsAt: hourAfter(endsAt) }),
      });
    return undefined;
  }

  #overQuota(firstEnd: number | undefined): OverQuota {
    const now = this.#database.now();
    return { result: 'over_quota', retryAfterMs: (firstEnd ?? hourAfter(now + 1)) - now };
  }
}

const scopeOf = (shard: Shard, mcpServerId: string) => `${shard} ${mcpServerId}`;
const keyOf = (scope: string, id: string) => JSON.stringify([scope, id]);
const hourAfter = (time: number) => Math.ceil(time / HOUR_MS) * HOUR_MS;
