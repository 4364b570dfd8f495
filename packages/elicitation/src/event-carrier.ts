import { compareFeedPositions, type EventOutbox, type OutboxEntry } from './events.ts';
import { type Shard, shardIn } from './ids.ts';

export interface CarryReport {
  /** Number of entries read from the outboxes. */
  readonly found: number;
  /** Number of them that no feed had yet. */
  readonly carried: number;
  /** Shards that dropped entries before they were carried. */
  readonly gaps: readonly Shard[];
  /** Shards that may have more entries. */
  readonly more: readonly Shard[];
}

export interface EventCarrierOptions {
  /** Entries read per shard at a time. Default 64. */
  readonly perShard?: number;
  /** Entries added to a feed at a time; the store is blocked meanwhile. Default 250. */
  readonly perCarry?: number;
}

/**
 * Carries committed transitions from the outboxes of the shards into the feeds of the MCP servers, one round at a time. It writes
 * the feed first, which skips entries that it has, and the cursor later, which only marks where to start. A kill in between, or a
 * concurrent carrier, therefore neither loses nor duplicates an event. Cursors may lag, so they are written rarely.
 */
export class EventCarrier {
  readonly #outbox: EventOutbox;
  readonly #perShard: number;
  readonly #perCarry: number;
  /** Position per shard up to which this carrier has carried. Everything from its start to there is in its feed. */
  readonly #carried = new Map<Shard, string>();
  /** Shards whose cursor is behind that position. */
  readonly #behind = new Set<Shard>();

  constructor(outbox: EventOutbox, { perShard = 64, perCarry = 250 }: EventCarrierOptions = {}) {
    this.#outbox = outbox;
    this.#perShard = perShard;
    this.#perCarry = perCarry;
  }

  /** Whether a cursor is behind the carried position. */
  get isBehind(): boolean {
    return this.#behind.size > 0;
  }

  /** If it throws, the next call repeats the unfinished work. @throws StoreUnavailableError */
  async carry(shards: readonly Shard[]): Promise<CarryReport> {
    const read = await Promise.all(shards.map(shard => this.#read(shard)));
    const entries = read.flatMap(each => each.entries);
    const feeds = [...Map.groupBy(entries, ({ event }) => event.mcpServerId)];
    const added = await Promise.all(feeds.map(([mcpServerId, own]) => this.#addAll(mcpServerId, own)));
    for (const { position, event } of entries) this.#note(shardIn(event.elicitationId), position);
    return {
      found: entries.length,
      carried: added.reduce((sum, each) => sum + each, 0),
      gaps: read.filter(({ hasGap }) => hasGap).map(({ shard }) => shard),
      more: read.filter(each => each.entries.length >= this.#perShard).map(({ shard }) => shard),
    };
  }

  /** Stores the position from which the next carrier continues. @throws StoreUnavailableError */
  async moveCursors(): Promise<void> {
    const behind = [...this.#behind];
    this.#behind.clear();
    try {
      await Promise.all(
        behind.map(async shard => {
          const position = this.#carried.get(shard);
          if (position !== undefined) await this.#outbox.moveCursor(shard, position);
        }),
      );
    } catch (error) {
      for (const shard of behind) this.#behind.add(shard);
      throw error;
    }
  }

  /** Restarts at the cursors, because another carrier may have carried meanwhile. */
  forget(): void {
    this.#carried.clear();
    this.#behind.clear();
  }

  async #read(shard: Shard) {
    const after = this.#carried.get(shard) ?? (await this.#outbox.cursor(shard));
    const read = await this.#readAfter(shard, after);
    if (!read.hasGap) return read;
    // Another carrier may have carried further than this one remembers, and carried entries may be dropped.
    const cursor = await this.#outbox.cursor(shard);
    const isOvertaken = cursor !== undefined && after !== undefined && compareFeedPositions(after, cursor) < 0;
    return isOvertaken ? this.#readAfter(shard, cursor) : read;
  }

  async #readAfter(shard: Shard, after: string | undefined) {
    if (after !== undefined) this.#carried.set(shard, after);
    return { shard, ...(await this.#outbox.read(shard, { after, limit: this.#perShard })) };
  }

  /** Sequential, so that a later part is never in the feed without the earlier one. */
  async #addAll(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number> {
    let added = 0;
    for (let at = 0; at < entries.length; at += this.#perCarry)
      added += await this.#outbox.carry(mcpServerId, entries.slice(at, at + this.#perCarry));
    return added;
  }

  #note(shard: Shard, position: string): void {
    this.#carried.set(shard, position);
    this.#behind.add(shard);
  }
}
