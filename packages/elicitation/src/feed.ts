import type { ElicitationEvent } from './events.ts';
import type { Shard } from './ids.ts';
import type { Watch } from './ports.ts';

/**
 * Every committed move is written down twice: in the outbox of its shard, in the commit itself; and from there, by a relay, in
 * the feed of its MCP server, exactly once. Both throw StoreUnavailableError when the store does not answer.
 */

/** An announcement as it stands in the feed of its MCP server. */
export interface FeedEvent extends ElicitationEvent {
  /** Where it stands in the feed, see `parseFeedPosition`; reading after it goes on from there. */
  readonly position: string;
  /** When it was committed, epoch milliseconds. */
  readonly occurredAt: number;
}

export type FeedPage =
  /** In the order of the feed, which within one elicitation is that of its versions. */
  | { readonly result: 'events'; readonly events: readonly FeedEvent[] }
  /** Something after `after` is no longer kept: what follows would have a hole. */
  | { readonly result: 'gone' };

/** What is announced to each MCP server, for as long as it is kept. */
export interface EventFeed {
  /** @param p.after a position that was answered before; undefined reads from the oldest event kept, and is never `gone`. */
  read(mcpServerId: string, p: { readonly after: string | undefined; readonly limit: number }): Promise<FeedPage>;
  /** The position after which only what is still to come is read; `FEED_START` where nothing ever came. */
  newest(mcpServerId: string): Promise<string>;
  /** Woken when something is added. */
  watch(mcpServerId: string): Watch;
}

/** Before everything that any feed ever holds. */
export const FEED_START = '0-0';

const POSITION = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,14})$/;

/** Undefined for what no feed ever answered with. */
export function parseFeedPosition(value: string): string | undefined {
  return POSITION.test(value) ? value : undefined;
}

/** Negative when `a` comes before `b` in the same feed or outbox, 0 when they are the same. */
export function compareFeedPositions(a: string, b: string): number {
  const [aTime = 0, aCount = 0] = a.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.split('-').map(Number);
  return aTime - bTime || aCount - bCount;
}

/** A committed move in the outbox of its shard. */
export interface OutboxEntry {
  /** Where it stands in the outbox. */
  readonly position: string;
  readonly event: ElicitationEvent;
  readonly occurredAt: number;
}

/** What the relay alone works with. Everything of it may be repeated, at any time and by any number of relays at once. */
export interface EventOutbox {
  /** Everything up to here has been carried; undefined before the first time. */
  cursor(shard: Shard): Promise<string | undefined>;
  /** Moves the cursor forward, never back. */
  moveCursor(shard: Shard, position: string): Promise<void>;
  /** What comes after, oldest first. `hasGap`: some of it was dropped before anybody read it. */
  read(
    shard: Shard,
    p: { readonly after: string | undefined; readonly limit: number },
  ): Promise<{ readonly entries: readonly OutboxEntry[]; readonly hasGap: boolean }>;
  /**
   * Adds to the feed of one MCP server what of these it does not have yet, and wakes who watches it. Of each shard, `entries` has
   * everything of that MCP server since a position that was carried before, in order; that is what makes repeating harmless.
   * @returns how many were added
   */
  carry(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number>;
  /** Told of the shard when something was committed, and of undefined when anything may have been missed. */
  onCommit(listener: (shard: Shard | undefined) => void): Disposable;
}
