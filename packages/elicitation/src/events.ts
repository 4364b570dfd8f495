import type { Elicitation, ElicitationStatus, Kind } from './elicitation.ts';
import type { ElicitationId, Shard } from './ids.ts';
import type { Payment, PaymentEventType } from './payment.ts';
import type { Watch } from './waiters.ts';

/** An event of an elicitation: thin, without secrets and without anything the user typed. */
export interface ElicitationEvent {
  /** Stable: a repeat of the same event has the same id. */
  readonly eventId: string;
  readonly type: `elicitation.${ElicitationStatus}` | PaymentEventType;
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly kind: Kind;
}

/** Returns the event of a committed version. There is one per version, so its id is derived from the version. */
export function eventOf(
  elicitation: Pick<Elicitation, 'elicitationId' | 'version' | 'status' | 'mcpServerId' | 'request'>,
): ElicitationEvent {
  return {
    eventId: `ev_${elicitation.elicitationId.slice(3)}.${elicitation.version}`,
    type: `elicitation.${elicitation.status}`,
    elicitationId: elicitation.elicitationId,
    mcpServerId: elicitation.mcpServerId,
    kind: elicitation.request.kind,
  };
}

/** Versions of payments count from here in ids of events, beyond those of elicitations: one number names one event. */
export const PAYMENT_VERSIONS = 1_000_000;

/** Returns the event of a committed change of a payment. */
export function paymentEventOf(
  { elicitationId, mcpServerId }: Pick<Payment, 'elicitationId' | 'mcpServerId'>,
  p: { readonly type: PaymentEventType; readonly version: number },
): ElicitationEvent {
  const eventId = `ev_${elicitationId.slice(3)}.${PAYMENT_VERSIONS + p.version}`;
  return { eventId, type: p.type, elicitationId, mcpServerId, kind: 'payment' };
}

/**
 * Every committed transition is written twice: in the outbox of its shard, within the commit itself, and then by a relay in the
 * feed of its MCP server, exactly once. Both ports throw StoreUnavailableError if the store does not answer.
 */

/** An event in the feed of its MCP server. */
export interface FeedEvent extends ElicitationEvent {
  /** Position in the feed; pass it as `after` to continue from here. */
  readonly position: string;
  /** Time of the commit, epoch milliseconds. */
  readonly occurredAt: number;
}

export type FeedPage =
  /** In feed order, which follows the versions within one elicitation. */
  | { readonly result: 'events'; readonly events: readonly FeedEvent[] }
  /** An event after `after` is no longer kept, so the rest would have a gap. */
  | { readonly result: 'gone' };

/** The events of each MCP server, for as long as they are kept. */
export interface EventFeed {
  /** @param p.after a position returned earlier; undefined reads from the oldest event kept, and is never `gone` */
  read(mcpServerId: string, p: { readonly after: string | undefined; readonly limit: number }): Promise<FeedPage>;
  /** Returns the position after which only future events are read; `FEED_START` if there was no event yet. */
  newest(mcpServerId: string): Promise<string>;
  /** Woken when an event is added. */
  watch(mcpServerId: string): Watch;
}

/** The position before all events of any feed. */
export const FEED_START = '0-0';

/** Returns a negative number if `a` precedes `b` in the same feed or outbox, 0 if they are equal. */
export function compareFeedPositions(a: string, b: string): number {
  const [aTime = 0, aCount = 0] = a.split('-').map(Number);
  const [bTime = 0, bCount = 0] = b.split('-').map(Number);
  return aTime - bTime || aCount - bCount;
}

/** A committed transition in the outbox of its shard. */
export interface OutboxEntry {
  /** Position in the outbox. */
  readonly position: string;
  readonly event: ElicitationEvent;
  readonly occurredAt: number;
  /** The provider or processor that is asked. */
  readonly provider?: string;
  /** Time since the elicitation was issued, in milliseconds. Absent at its issue. */
  readonly tookMs?: number;
}

/** The port of the relay. Every call may be repeated, at any time and by any number of concurrent relays. */
export interface EventOutbox {
  /** All entries up to here have been carried. Undefined before the first time. */
  cursor(shard: Shard): Promise<string | undefined>;
  /** Moves the cursor forward, never back. */
  moveCursor(shard: Shard, position: string): Promise<void>;
  /** Returns later entries, oldest first. `hasGap`: some entries were dropped before they were read. */
  read(
    shard: Shard,
    p: { readonly after: string | undefined; readonly limit: number },
  ): Promise<{ readonly entries: readonly OutboxEntry[]; readonly hasGap: boolean }>;
  /**
   * Adds the missing entries to the feed of one MCP server, and wakes its watchers. `entries` must contain all entries of that
   * MCP server since an already carried position of each shard, in order, so that a repeat is harmless.
   * @returns the number of added entries
   */
  carry(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number>;
  /** Called with the shard of a commit, or with undefined if commits may have been missed. */
  onCommit(listener: (shard: Shard | undefined) => void): Disposable;
}
