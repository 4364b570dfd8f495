import type { ElicitationId, Shard } from './ids.ts';

/** A record with a secret that can be taken once. It is stored under the digest of the value that takes it. */
export interface OneTimeRecord {
  readonly digest: string;
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly provider?: string;
  /** Digest of the browser that started it; absent if the taker is not a browser. */
  readonly browserBinding?: string;
  /** Sealed by the vault. */
  readonly sealed: string;
}

export type ConsumeResult =
  /** Exactly one caller ever gets this. */
  | { readonly result: 'taken'; readonly record: OneTimeRecord }
  /** Taken earlier, by any caller. The sealed part is deleted. */
  | { readonly result: 'spent'; readonly record: Omit<OneTimeRecord, 'sealed'> }
  | { readonly result: 'unknown' };

export interface OneTimeStore {
  /** Reads without taking. */
  read(shard: Shard, digest: string): Promise<OneTimeRecord | undefined>;
  consume(shard: Shard, digest: string): Promise<ConsumeResult>;
  /** True for exactly one caller per digest within `ttlMs`. For self-contained one-time values (sealed cookies, tickets). */
  claim(digest: string, ttlMs: number): Promise<boolean>;
}
