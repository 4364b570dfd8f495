import {
  type Clock,
  compareFeedPositions,
  type EventFeed,
  FEED_START,
  type FeedEvent,
  type FeedPage,
  type OutboxEntry,
  type Shard,
  shardIn,
  type Watch,
} from '@postern/elicitation';
import type { MemoryCounts } from './memory-listing.ts';
import type { MemoryNotifier } from './memory-notifier.ts';

export interface MemoryFeedRetention {
  readonly events: number;
  readonly maxAgeMs: number;
}

interface Feed {
  events: FeedEvent[];
  last: string;
  dropped: string;
  readonly carried: Map<Shard, string>;
}

/** The feeds of all MCP servers in one process. Atomic, because no verb awaits anything. */
export class MemoryEventFeed implements EventFeed {
  readonly #now: Clock;
  readonly #notifier: MemoryNotifier;
  readonly #retention: MemoryFeedRetention;
  readonly #counts: MemoryCounts;
  readonly #feeds = new Map<string, Feed>();

  constructor(p: { now: Clock; notifier: MemoryNotifier; retention: MemoryFeedRetention; counts: MemoryCounts }) {
    this.#now = p.now;
    this.#notifier = p.notifier;
    this.#retention = p.retention;
    this.#counts = p.counts;
  }

  async read(
    mcpServerId: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<FeedPage> {
    const feed = this.#feed(mcpServerId);
    this.#drop(feed);
    const start = after ?? feed.dropped;
    if (compareFeedPositions(start, feed.dropped) < 0 || compareFeedPositions(start, feed.last) > 0)
      return { result: 'gone' };
    const events = feed.events.filter(({ position }) => compareFeedPositions(position, start) > 0);
    return { result: 'events', events: events.slice(0, limit) };
  }

  async newest(mcpServerId: string): Promise<string> {
    return this.#feed(mcpServerId).last;
  }

  watch(mcpServerId: string): Watch {
    return this.#notifier.watch(`feed:${mcpServerId}`);
  }

  /** The second half of `MemoryEventOutbox.carry`. */
  add(mcpServerId: string, entries: readonly OutboxEntry[]): number {
    const feed = this.#feed(mcpServerId);
    const now = this.#now();
    let added = 0;
    for (const entry of entries) {
      const { position, event, occurredAt } = entry;
      const shard = shardIn(event.elicitationId);
      if (compareFeedPositions(position, feed.carried.get(shard) ?? FEED_START) <= 0) continue;
      const [time = 0, count = 0] = feed.last.split('-').map(Number);
      feed.last = now > time ? `${now}-0` : `${time}-${count + 1}`;
      feed.events.push({ ...event, position: feed.last, occurredAt });
      feed.carried.set(shard, position);
      this.#counts.note(mcpServerId, entry);
      added += 1;
    }
    this.#drop(feed);
    if (added > 0) this.#notifier.wake(`feed:${mcpServerId}`);
    return added;
  }

  #drop(feed: Feed): void {
    const oldest = `${this.#now() - this.#retention.maxAgeMs}-0`;
    const kept = feed.events
      .slice(-this.#retention.events)
      .filter(({ position }) => compareFeedPositions(position, oldest) >= 0);
    feed.dropped = feed.events[feed.events.length - kept.length - 1]?.position ?? feed.dropped;
    feed.events = kept;
  }

  #feed(mcpServerId: string): Feed {
    const found = this.#feeds.get(mcpServerId);
    if (found !== undefined) return found;
    const feed: Feed = { events: [], last: FEED_START, dropped: FEED_START, carried: new Map() };
    this.#feeds.set(mcpServerId, feed);
    return feed;
  }
}
