import {
  type Clock,
  compareFeedPositions,
  type ElicitationEvent,
  type EventOutbox,
  FEED_START,
  type OutboxEntry,
  type Shard,
  shardIn,
} from '@postern/elicitation';
import type { MemoryEventFeed } from './memory-event-feed.ts';

/** The outboxes of all shards in one process. They never drop an entry. */
export class MemoryEventOutbox implements EventOutbox {
  readonly #now: Clock;
  readonly #feed: MemoryEventFeed;
  readonly #entries = new Map<Shard, OutboxEntry[]>();
  readonly #cursors = new Map<Shard, string>();
  readonly #listeners = new Set<(shard: Shard | undefined) => void>();
  #appended = 0;

  constructor(p: { now: Clock; feed: MemoryEventFeed }) {
    this.#now = p.now;
    this.#feed = p.feed;
  }

  /** Called within the commit. */
  append(event: ElicitationEvent, asked: Pick<OutboxEntry, 'provider' | 'tookMs'>): void {
    const shard = shardIn(event.elicitationId);
    const occurredAt = this.#now();
    this.#appended += 1;
    const entry = { position: `${occurredAt}-${this.#appended}`, event, occurredAt, ...asked };
    const entries = this.#entries.get(shard);
    if (entries === undefined) this.#entries.set(shard, [entry]);
    else entries.push(entry);
    for (const listener of this.#listeners) listener(shard);
  }

  async cursor(shard: Shard): Promise<string | undefined> {
    return this.#cursors.get(shard);
  }

  async moveCursor(shard: Shard, position: string): Promise<void> {
    if (compareFeedPositions(position, this.#cursors.get(shard) ?? FEED_START) > 0) this.#cursors.set(shard, position);
  }

  async read(
    shard: Shard,
    { after = FEED_START, limit }: { readonly after: string | undefined; readonly limit: number },
  ) {
    const entries = (this.#entries.get(shard) ?? []).filter(
      ({ position }) => compareFeedPositions(position, after) > 0,
    );
    return { entries: entries.slice(0, limit), hasGap: false };
  }

  async carry(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number> {
    return this.#feed.add(mcpServerId, entries);
  }

  onCommit(listener: (shard: Shard | undefined) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
