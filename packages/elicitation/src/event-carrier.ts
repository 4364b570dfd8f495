import { compareFeedPositions, type EventOutbox, type OutboxEntry } from './feed.ts';
import { type Shard, shardIn } from './ids.ts';

export interface CarryReport {
  /** Entries read from the outboxes. */
  readonly found: number;
  /** Those of them that no feed had yet. */
  readonly carried: number;
  /** Shards of which entries were dropped before anybody carried them. */
  readonly gaps: readonly Shard[];
  /** Shards that may have more. */
  readonly more: readonly Shard[];
}

export interface EventCarrierOptions {
  /** Entries read per shard in one go. Default 64. */
  readonly perShard?: number;
  /** Entries added to a feed in one go: the store is busy with nothing else meanwhile. Default 250. */
  readonly perCarry?: number;
}

/**
 * Carries committed moves from the outboxes of the shards into the feeds of the MCP servers, one round at a time. First the feed,
 * which skips what it has, and the cursor later, which only says where to begin: at no point between the two does being killed,
 * or somebody else doing the same, lose or double anything. That also lets the cursors lag, so that they cost little.
 */
export class EventCarrier {
  readonly #outbox: EventOutbox;
  readonly #perShard: number;
  readonly #perCarry: number;
  /** How far this carrier has carried; from where it began, everything up to there is in its feed. */
  readonly #carried = new Map<Shard, string>();
  /** Shards whose cursor is behind that. */
  readonly #behind = new Set<Shard>();

  constructor(outbox: EventOutbox, { perShard = 64, perCarry = 250 }: EventCarrierOptions = {}) {
    this.#outbox = outbox;
    this.#perShard = perShard;
    this.#perCarry = perCarry;
  }

  /** Whether cursors are behind what was carried. */
  get isBehind(): boolean {
    return this.#behind.size > 0;
  }

  /** What it had begun when it throws is begun once more by the next call. @throws StoreUnavailableError */
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

  /** Says where whoever comes next may begin. @throws StoreUnavailableError */
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

  /** Begins anew at the cursors: somebody else may have carried meanwhile. */
  forget(): void {
    this.#carried.clear();
    this.#behind.clear();
  }

  async #read(shard: Shard) {
    const after = this.#carried.get(shard) ?? (await this.#outbox.cursor(shard));
    const read = await this.#readAfter(shard, after);
    if (!read.hasGap) return read;
    // Somebody else may have carried meanwhile, further than this one remembers, and what is carried may be dropped.
    const cursor = await this.#outbox.cursor(shard);
    const isOvertaken = cursor !== undefined && after !== undefined && compareFeedPositions(after, cursor) < 0;
    return isOvertaken ? this.#readAfter(shard, cursor) : read;
  }

  async #readAfter(shard: Shard, after: string | undefined) {
    if (after !== undefined) this.#carried.set(shard, after);
    return { shard, ...(await this.#outbox.read(shard, { after, limit: this.#perShard })) };
  }

  /** One after another: a later part must not be there without the one before. */
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
