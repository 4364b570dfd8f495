import {
  type CountedStep,
  type CountReader,
  compareFeedPositions,
  countedSteps,
  type DecisionCount,
  type ElicitationEvent,
  type EventFeed,
  type EventOutbox,
  FEED_START,
  type FeedEvent,
  type FeedPage,
  type OutboxEntry,
  type Shard,
  type StepCount,
  shardIn,
  type Watch,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Records } from './records.ts';

/** Maximum number and age of the events in a feed. */
export interface FeedRetention {
  readonly events: number;
  readonly maxAgeMs: number;
}

const positionOf = (rank: number) => `${rank}-0`;
const rankOf = (position: string) => Number(position.split('-', 1)[0]);
/** A position is the time of its entry, or one more than the position before it: it grows even if the clock does not. */
const positionAfter = (last: string, now: number) => positionOf(Math.max(now, rankOf(last) + 1));

/** The last position of a feed, and how many events it ever had. */
interface Head {
  readonly last: string;
  readonly count: number;
}
const EMPTY: Head = { last: FEED_START, count: 0 };

/** `previous` is the position before: what is dropped up to the first event that is kept. */
interface FeedRow {
  readonly event: FeedEvent;
  readonly previous: string;
  readonly endsAt: number;
}

export interface SqliteEventFeedDeps {
  readonly database: Database;
  readonly retention: FeedRetention;
  readonly counts: SqliteCounts;
}

/** The feeds of all MCP servers. */
export class SqliteEventFeed implements EventFeed {
  readonly #deps: SqliteEventFeedDeps;
  readonly #rows: Records<FeedRow>;
  readonly #heads: Records<Head>;
  /** The position in the outbox of a shard up to which a feed has all entries. */
  readonly #carried: Records<{ readonly position: string }>;

  constructor(deps: SqliteEventFeedDeps) {
    const { database } = deps;
    this.#deps = deps;
    this.#rows = new Records(database, 'feed', ({ event, endsAt }) => ({
      ...{ whose: event.mcpServerId, endsAt },
      rank: rankOf(event.position),
    }));
    this.#heads = new Records(database, 'feed head');
    this.#carried = new Records(database, 'feed carried');
  }

  async read(
    mcpServerId: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<FeedPage> {
    const last = this.#last(mcpServerId);
    const dropped = this.#rows.of(mcpServerId, { limit: 1 })[0]?.previous ?? last;
    const start = after ?? dropped;
    if (compareFeedPositions(start, dropped) < 0 || compareFeedPositions(start, last) > 0) return { result: 'gone' };
    const rows = this.#rows.of(mcpServerId, { after: rankOf(start), limit });
    return { result: 'events', events: rows.map(({ event }) => event) };
  }

  async newest(mcpServerId: string): Promise<string> {
    return this.#last(mcpServerId);
  }

  watch(mcpServerId: string): Watch {
    return this.#deps.database.waiters.watch(watchOf(mcpServerId));
  }

  /** The second half of `SqliteEventOutbox.carry`. */
  add(mcpServerId: string, entries: readonly OutboxEntry[]): number {
    let added = 0;
    for (const entry of entries) {
      const { position, event } = entry;
      const carriedId = `${shardIn(event.elicitationId)} ${mcpServerId}`;
      const carried = this.#carried.get(carriedId)?.position ?? FEED_START;
      if (compareFeedPositions(position, carried) <= 0) continue;
      this.#append(mcpServerId, entry);
      this.#carried.put(carriedId, { position });
      this.#deps.counts.note(mcpServerId, entry);
      added += 1;
    }
    if (added > 0) this.#deps.database.wake(watchOf(mcpServerId));
    return added;
  }

  #append(mcpServerId: string, { event, occurredAt }: OutboxEntry): void {
    const now = this.#deps.database.now();
    const { events, maxAgeMs } = this.#deps.retention;
    const before = this.#heads.get(mcpServerId) ?? EMPTY;
    const head = { last: positionAfter(before.last, now), count: before.count + 1 };
    const row = { ...event, mcpServerId, position: head.last, occurredAt };
    const idOf = (nth: number) => `${nth} ${mcpServerId}`;
    this.#heads.put(mcpServerId, head);
    this.#rows.put(idOf(head.count), { event: row, previous: before.last, endsAt: now + maxAgeMs + 1 });
    this.#rows.delete(idOf(head.count - events));
  }

  #last(mcpServerId: string): string {
    return (this.#heads.get(mcpServerId) ?? EMPTY).last;
  }
}

const watchOf = (mcpServerId: string) => `feed:${mcpServerId}`;

/** The outboxes of all shards. They keep an entry until the cursor has passed it. */
export class SqliteEventOutbox implements EventOutbox {
  readonly #database: Database;
  readonly #feed: SqliteEventFeed;
  readonly #rows: Records<OutboxEntry>;
  readonly #cursors: Records<{ readonly position: string }>;

  constructor(p: { database: Database; feed: SqliteEventFeed }) {
    this.#database = p.database;
    this.#feed = p.feed;
    this.#rows = new Records(p.database, 'outbox', ({ event, position }) => ({
      whose: shardIn(event.elicitationId),
      rank: rankOf(position),
    }));
    this.#cursors = new Records(p.database, 'outbox cursor');
  }

  /** Events of all shards that are not carried yet, oldest first. @internal */
  events(): readonly ElicitationEvent[] {
    return this.#rows.oldest().map(({ event }) => event);
  }

  /** Called within the commit. */
  append(event: ElicitationEvent, asked: Pick<OutboxEntry, 'provider' | 'tookMs'>): void {
    const shard = shardIn(event.elicitationId);
    const occurredAt = this.#database.now();
    // Without entries, the last one was deleted when the cursor passed it.
    const last = this.#rows.newestOf(shard, { limit: 1 })[0]?.position ?? this.#cursor(shard);
    const position = positionAfter(last, occurredAt);
    this.#rows.put(`${shard} ${position}`, { position, event, occurredAt, ...asked });
    this.#database.wake(event.elicitationId);
  }

  async cursor(shard: Shard): Promise<string | undefined> {
    return this.#cursors.get(shard)?.position;
  }

  async moveCursor(shard: Shard, position: string): Promise<void> {
    this.#database.commit(() => {
      if (compareFeedPositions(position, this.#cursor(shard)) <= 0) return;
      this.#cursors.put(shard, { position });
      this.#rows.deleteOf(shard, rankOf(position));
    });
  }

  async read(shard: Shard, { after, limit }: { readonly after: string | undefined; readonly limit: number }) {
    const entries = this.#rows.of(shard, { after: rankOf(after ?? FEED_START), limit });
    return { entries, hasGap: after !== undefined && compareFeedPositions(after, this.#cursor(shard)) < 0 };
  }

  async carry(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number> {
    return this.#database.commit(() => this.#feed.add(mcpServerId, entries));
  }

  onCommit(listener: (shard: Shard | undefined) => void): Disposable {
    return this.#database.waiters.onCommit(listener);
  }

  #cursor(shard: Shard): string {
    return this.#cursors.get(shard)?.position ?? FEED_START;
  }
}

const HOUR_MS = 3_600_000;
const LONGEST_S = 65_536;
const decided: ReadonlySet<string> = new Set(['completed', 'declined', 'failed']);

type Count = StepCount | DecisionCount;

/** Counts what is added to a feed. */
export class SqliteCounts implements CountReader {
  readonly #retentionMs: number;
  readonly #rows: Records<Count & { readonly whose: string }>;

  constructor(p: { database: Database; retentionMs: number }) {
    this.#retentionMs = p.retentionMs;
    this.#rows = new Records(p.database, 'count', ({ whose, at }) => ({
      whose,
      rank: at,
      endsAt: at + this.#retentionMs,
    }));
  }

  /** Called once for each event, within the commit that adds it. */
  note(mcpServerId: string, { event, occurredAt, provider, tookMs }: OutboxEntry): void {
    const { kind } = event;
    const step = stepOf(event);
    if (step === undefined) return;
    const at = Math.floor(occurredAt / HOUR_MS) * HOUR_MS;
    this.#add(mcpServerId, { at, kind, step, ...(provider === undefined ? {} : { provider }) });
    if (!decided.has(step) || tookMs === undefined) return;
    const withinSeconds = Math.min(2 ** Math.max(0, Math.ceil(Math.log2(tookMs / 1_000))), LONGEST_S);
    this.#add(mcpServerId, { at, kind, withinSeconds });
  }

  async size(mcpServerId: string, day: string) {
    return this.#rows.sumOf(dayOf(mcpServerId, day)).count;
  }

  async read(mcpServerId: string, day: string) {
    const counts = this.#rows.of(dayOf(mcpServerId, day)).map(({ whose: _, ...count }): Count => count);
    return {
      steps: counts.filter(count => 'step' in count),
      decisions: counts.filter(count => 'withinSeconds' in count),
    };
  }

  #add(mcpServerId: string, of: Omit<StepCount, 'count'> | Omit<DecisionCount, 'count'>): void {
    const id = JSON.stringify([mcpServerId, of]);
    const whose = dayOf(mcpServerId, new Date(of.at).toISOString().slice(0, 10));
    this.#rows.put(id, { ...of, whose, count: (this.#rows.get(id)?.count ?? 0) + 1 });
  }
}

const dayOf = (mcpServerId: string, day: string) => `${day} ${mcpServerId}`;

function stepOf({ eventId, type }: OutboxEntry['event']): CountedStep | undefined {
  const status = type.slice('elicitation.'.length);
  const version = eventId.slice(eventId.lastIndexOf('.') + 1);
  if (version === '1') return 'issued';
  return countedSteps.find(step => step === status) ?? (version === '2' ? 'opened' : undefined);
}
