import { type Clock, type OverQuota, type Shard, type StorageQuota, shareOf } from '@postern/elicitation';

const HOUR_MS = 3_600_000;

export interface Charge {
  /** Replaces the earlier charge of this id. */
  readonly id: string;
  /** `Infinity` for a lasting record. */
  readonly endsAt: number;
  readonly bytes: number;
}

/** The records of each MCP server in each shard, until the hour after their expiry. Sizes approximate those of Redis. */
export class MemoryLedger {
  readonly #now: Clock;
  readonly #charges = new Map<string, Map<string, Omit<Charge, 'id'>>>();
  readonly #shares = new Map<string, StorageQuota>();

  constructor(now: Clock) {
    this.#now = now;
  }

  bytesOf(shard: Shard, mcpServerId: string, id: string): number {
    return this.#kept(shard, mcpServerId).get(id)?.bytes ?? 0;
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
    if (!refused) this.#shares.set(scopeOf(shard, mcpServerId), share);
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
    const all = this.#kept(shard, owner);
    const before = all.get(id);
    if (share === undefined || bytes <= (before?.bytes ?? 0)) return undefined;
    const others = [...all].filter(([other, { endsAt }]) => other !== id && endsAt === Infinity);
    const sum = others.reduce((total, [, charge]) => total + charge.bytes, bytes);
    const part = before === undefined ? 4 / 8 : 6 / 8;
    const fits = others.length + 1 <= share.records * part && sum <= share.bytes * part;
    return fits ? undefined : { result: 'over_quota', retryAfterMs: this.#retryAfterMs(all) };
  }

  /** Reverses the charge of a record. */
  release(shard: Shard, mcpServerId: string, id: string): void {
    this.#kept(shard, mcpServerId).delete(id);
  }

  /** Applies all charges or none. If `mayRefuse`, they must fit the last known share. */
  charge(shard: Shard, mcpServerId: string, charges: readonly Charge[], mayRefuse: boolean): OverQuota | undefined {
    const share = mayRefuse ? this.#shares.get(scopeOf(shard, mcpServerId)) : undefined;
    return this.#charge(shard, mcpServerId, charges, share && { share, eighths: 8 });
  }

  #charge(
    shard: Shard,
    mcpServerId: string,
    charges: readonly Charge[],
    limit: { readonly share: StorageQuota; readonly eighths: number } | undefined,
  ): OverQuota | undefined {
    const kept = this.#kept(shard, mcpServerId);
    const after = new Map([...kept, ...charges.map(({ id, ...charge }) => [id, charge] as const)]);
    const bytes = [...after.values()].reduce((sum, charge) => sum + charge.bytes, 0);
    const isWithin =
      limit === undefined ||
      (after.size <= (limit.share.records * limit.eighths) / 8 && bytes <= (limit.share.bytes * limit.eighths) / 8);
    if (!isWithin) return { result: 'over_quota', retryAfterMs: this.#retryAfterMs(kept) };
    this.#charges.set(scopeOf(shard, mcpServerId), after);
    return undefined;
  }

  #kept(shard: Shard, mcpServerId: string): Map<string, Omit<Charge, 'id'>> {
    const charges = this.#charges.get(scopeOf(shard, mcpServerId)) ?? new Map<string, Omit<Charge, 'id'>>();
    for (const [id, { endsAt }] of charges) if (hourAfter(endsAt) <= this.#now()) charges.delete(id);
    return charges;
  }

  #retryAfterMs(kept: ReadonlyMap<string, Omit<Charge, 'id'>>): number {
    const hours = [...kept.values()].map(({ endsAt }) => hourAfter(endsAt)).filter(Number.isFinite);
    return Math.min(...(hours.length === 0 ? [hourAfter(this.#now() + 1)] : hours)) - this.#now();
  }
}

const scopeOf = (shard: Shard, mcpServerId: string) => `${shard} ${mcpServerId}`;
const hourAfter = (time: number) => Math.ceil(time / HOUR_MS) * HOUR_MS;
