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

/** A record to be stored in the commit of a transition, and its lifetime in milliseconds. */
export interface OneTime {
  readonly record: OneTimeRecord;
  readonly ttlMs: number;
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
  /**
   * True for exactly one caller per digest within `ttlMs`. For what an elicitation allows a few times at once, so that its MCP server has
   * paid for it with the elicitation.
   */
  claim(digest: string, ttlMs: number): Promise<boolean>;
  /**
   * True for exactly one caller per digest until `expiresAt`, after which the caller refuses the value itself. For self-contained one-time
   * values (sealed cookies, tickets). Strangers cause them, so the store remembers a fixed number of each kind: beyond it, it forgets the
   * values that expire first, and refuses all that expire as early.
   */
  spend(value: { readonly kind: UsedKind; readonly digest: string; readonly expiresAt: number }): Promise<boolean>;
}

/** What a self-contained one-time value is for. Each has a limit of its own, so that a flood of one costs no other. */
export type UsedKind =
  | 'login'
  | 'logout'
  | 'console-login'
  | 'console-logout'
  | 'passkey'
  /** Of the application of one MCP server. */
  | `ticket.${string}`;
