import { setImmediate } from 'node:timers/promises';
import {
  HOUR_MS,
  type OverQuota,
  SHARDS,
  type Shard,
  type StorageQuota,
  type StorageUse,
  type StorageUseReader,
  shareOf,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { joined, Records } from './records.ts';

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

/** The charges of a scope that end in the same hour, or never. */
type HourRow = Row & { readonly records: number };

/**
 * The records of each MCP server in each shard, until the hour after their expiry. Sizes approximate those of Redis. Every verb runs
 * within the commit of the record that it charges, and reads one sum for each hour of the retention.
 */
export class Ledger implements StorageUseReader {
  readonly #database: Database;
  readonly #charges: Records<Row>;
  readonly #hours: Records<HourRow>;
  readonly #shares: Records<StorageQuota>;

  constructor(database: Database) {
    this.#database = database;
    this.#charges = new Records(database, 'charge', ({ endsAt }) => ({ endsAt }));
    this.#hours = new Records(database, 'charges by hour', ({ scope, endsAt }) => ({
      whose: scope,
      rank: endsAt,
      endsAt,
    }));
    this.#shares = new Records(database, 'share');
  }

  bytesOf(shard: Shard, mcpServerId: string, id: string): number {
    return this.#charges.get(joined(scopeOf(shard, mcpServerId), id))?.bytes ?? 0;
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
    const { lasting, firstEnd } = this.#sumOf(scopeOf(shard, owner));
    const count = lasting.records + (before === 0 ? 1 : 0);
    const part = before === 0 ? 4 / 8 : 6 / 8;
    const fits = count <= share.records * part && lasting.bytes - before + bytes <= share.bytes * part;
    return fits ? undefined : this.#overQuota(firstEnd);
  }

  /** Reverses the charge of a record. */
  release(shard: Shard, mcpServerId: string, id: string): void {
    this.#put(scopeOf(shard, mcpServerId), id, undefined);
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

  async read(owners: readonly string[]): Promise<readonly StorageUse[]> {
    const found: StorageUse[] = [];
    for (const owner of owners) {
      const shards = SHARDS.map(shard => {
        const { records, bytes, lasting } = this.#sumOf(scopeOf(shard, owner));
        return { records, bytes, lasting };
      });
      const sum = (of: 'records' | 'bytes') => shards.reduce((total, shard) => total + shard[of], 0);
      found.push({ owner, records: sum('records'), bytes: sum('bytes'), shards });
      // Requests of users and MCP servers in between.
      await setImmediate();
    }
    return found;
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
      const kept = this.#sumOf(scope);
      const before = charges.map(({ id }) => this.bytesOf(shard, mcpServerId, id));
      const count = kept.records + before.filter(bytes => bytes === 0).length - (freed === 0 ? 0 : 1);
      const total = charges.reduce((sum, { bytes }, at) => sum + bytes - (before[at] ?? 0), kept.bytes - freed);
      if (count > (share.records * eighths) / 8 || total > (share.bytes * eighths) / 8)
        return this.#overQuota(kept.firstEnd);
    }
    if (freed > 0) this.release(shard, mcpServerId, replaced);
    for (const { id, endsAt, bytes } of charges)
      this.#put(scope, id, { scope, bytes, ...(endsAt === Infinity ? {} : { endsAt: hourAfter(endsAt) }) });
    return undefined;
  }

  /** Replaces a charge, also in the sums of its hour. */
  #put(scope: string, id: string, row: Row | undefined): void {
    const former = this.#charges.get(joined(scope, id));
    if (former !== undefined) this.#add(former, -1);
    if (row === undefined) this.#charges.delete(joined(scope, id));
    else {
      this.#charges.put(joined(scope, id), row);
      this.#add(row, 1);
    }
  }

  #add({ bytes, ...of }: Row, sign: 1 | -1): void {
    const id = joined(of.scope, String(of.endsAt));
    const { records, bytes: sum } = this.#hours.get(id) ?? { records: 0, bytes: 0 };
    if (records + sign > 0) this.#hours.put(id, { ...of, records: records + sign, bytes: sum + sign * bytes });
    else this.#hours.delete(id);
  }

  #sumOf(scope: string) {
    const hours = this.#hours.of(scope);
    const sum = (of: 'records' | 'bytes') => hours.reduce((total, hour) => total + hour[of], 0);
    const { records = 0, bytes = 0 } = hours.find(({ endsAt }) => endsAt === undefined) ?? {};
    const firstEnd = hours.find(({ endsAt }) => endsAt !== undefined)?.endsAt;
    return { records: sum('records'), bytes: sum('bytes'), lasting: { records, bytes }, firstEnd };
  }

  #overQuota(firstEnd: number | undefined): OverQuota {
    const now = this.#database.now();
    return { result: 'over_quota', retryAfterMs: (firstEnd ?? hourAfter(now + 1)) - now };
  }
}

const scopeOf = (shard: Shard, mcpServerId: string) => `${shard} ${mcpServerId}`;
const hourAfter = (time: number) => Math.ceil(time / HOUR_MS) * HOUR_MS;
