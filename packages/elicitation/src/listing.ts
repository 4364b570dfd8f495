import type { Kind } from './elicitation.ts';
import type { Shard } from './ids.ts';

/**
 * Lists and counts over all users, for operators. The commit that writes a record writes its list entry. Every port throws
 * StoreUnavailableError if the store does not answer.
 */

/**
 * `open` is ordered by expiry, `revocations` by the next attempt, the others by the time of the last commit of a user: end, connecting,
 * saving.
 */
export type RecordList = 'open' | 'ended' | 'connections' | 'credentials' | 'revocations';

export interface ListEntry {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface RecordLists {
  /**
   * Entries of a shard, newest first, and within a millisecond by descending id. Its record may have been removed since.
   * @param p.before continues after this entry, which need not exist any more
   */
  page(p: {
    readonly list: RecordList;
    readonly shard: Shard;
    readonly before: ListEntry | undefined;
    readonly limit: number;
  }): Promise<readonly ListEntry[]>;
  /** The number of entries of a shard. */
  size(list: RecordList, shard: Shard): Promise<number>;
}

/** Returns a negative number if `a` comes before `b` in a list: the newest first. */
export function compareListEntries(a: ListEntry, b: ListEntry): number {
  return b.at - a.at || (a.id > b.id ? -1 : a.id === b.id ? 0 : 1);
}

/** Orders rows by the time of their entries, the oldest first, and by their id within a millisecond. */
export const oldestFirst =
  <Row>(entryOf: (row: Row) => ListEntry) =>
  (one: Row, other: Row): number => {
    const [a, b] = [entryOf(one), entryOf(other)];
    return a.at - b.at || (a.id < b.id ? -1 : 1);
  };

/** `opened`: the user started to answer. */
export const countedSteps = ['issued', 'opened', 'completed', 'declined', 'failed', 'cancelled', 'expired'] as const;
export type CountedStep = (typeof countedSteps)[number];

/** How many elicitations of an MCP server took a step for the first time within an hour. */
export interface StepCount {
  /** Start of the hour, epoch milliseconds. */
  readonly at: number;
  readonly step: CountedStep;
  readonly kind: Kind;
  /** The provider or processor that was asked. */
  readonly provider?: string;
  readonly count: number;
}

/** How many users of an MCP server decided within an hour, by the time from issue to decision. */
export interface DecisionCount {
  readonly at: number;
  readonly kind: Kind;
  /** A power of two: this many seconds at most, and more than half of them. 65536 stands for anything longer, too. */
  readonly withinSeconds: number;
  readonly count: number;
}

/** Counts by hour. The relay writes each together with the event, so each event counts exactly once. */
export interface CountReader {
  /** How much `read` would read. @param day UTC */
  size(mcpServerId: string, day: string): Promise<number>;
  /** @param day UTC, `2026-11-23` */
  read(
    mcpServerId: string,
    day: string,
  ): Promise<{ readonly steps: readonly StepCount[]; readonly decisions: readonly DecisionCount[] }>;
}
