import {
  type CountedStep,
  type CountReader,
  compareFeedPositions,
  countedSteps,
  type DecisionCount,
  dayOf,
  type ElicitationEvent,
  type EventFeed,
  type EventLog,
  type EventOutbox,
  FEED_START,
  type FeedEvent,
  type FeedPage,
  type FeedRetention,
  hourOf,
  type OutboxEntry,
  type Shard,
  type StepCount,
  shardIn,
  type Watch,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Log, positionOf, rankOf } from './log.ts';
import { Records } from './records.ts';

export interface SqliteEventFeedDeps {
  readonly database: Database;
  readonly retention: FeedRetention;
  readonly counts: SqliteCounts;
}

/** The feeds of all MCP servers. */
export class SqliteEventFeed implements EventFeed {
  readonly #deps: SqliteEventFeedDeps;
  readonly #log: Log<FeedEvent>;
  /** The position in the outbox of a shard up to which a feed has all entries. */
  readonly #carried: Records<{ readonly position: string }>;

  constructor(deps: SqliteEventFeedDeps) {
    const { database } = deps;
    this.#deps = deps;
    this.#log = new Log(database, 'feed');
    this.#carried = new Records(database, 'feed carried');
  }

  async read(
    mcpServerId: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<FeedPage> {
    const dropped = this.#log.dropped(mcpServerId);
    const start = after === undefined ? dropped : rankOf(after);
    if (start < dropped || start > this.#log.last(mcpServerId)) return { result: 'gone' };
    return { result: 'events', events: this.#log.of(mcpServerId, { after: start, limit }) };
  }

  async newest(mcpServerId: string): Promise<string> {
    return positionOf(this.#log.last(mcpServerId));
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
    const { events, maxAgeMs } = this.#deps.retention;
    const row = (rank: number) => ({ ...event, mcpServerId, position: positionOf(rank), occurredAt });
    this.#log.append(mcpServerId, row, { endsAt: this.#deps.database.now() + maxAgeMs + 1 });
    this.#log.keep(mcpServerId, events);
  }
}

const watchOf = (mcpServerId: string) => `feed:${mcpServerId}`;

/** The outboxes of all shards. They keep an entry until the cursor has passed it, and the newest ones as the log of the shard. */
export class SqliteEventOutbox implements EventOutbox {
  readonly #database: Database;
  readonly #feed: SqliteEventFeed;
  readonly #perShard: number;
  readonly #log: Log<OutboxEntry>;
  readonly #cursors: Records<{ readonly position: string }>;
  readonly events: EventLog = {
    read: async (shard, { after = FEED_START, limit }) =>
      this.#log.of(shard, { after: rankOf(after), limit }).map(({ occurredAt: _, ...event }) => event),
  };

  constructor(p: { database: Database; feed: SqliteEventFeed; perShard: number }) {
    this.#database = p.database;
    this.#feed = p.feed;
    this.#perShard = p.perShard;
    this.#log = new Log(p.database, 'outbox');
    this.#cursors = new Records(p.database, 'outbox cursor');
  }

  /** Called within the commit. */
  append(event: ElicitationEvent, asked: Pick<OutboxEntry, 'provider' | 'tookMs'>): void {
    const shard = shardIn(event.elicitationId);
    const occurredAt = this.#database.now();
    this.#log.append(shard, rank => ({ position: positionOf(rank), event, occurredAt, ...asked }));
    this.#database.wake(event.elicitationId);
  }

  async cursor(shard: Shard): Promise<string | undefined> {
    return this.#cursors.get(shard)?.position;
  }

  async moveCursor(shard: Shard, position: string): Promise<void> {
    this.#database.commit(() => {
      if (compareFeedPositions(position, this.#cursor(shard)) <= 0) return;
      this.#cursors.put(shard, { position });
      this.#log.keep(shard, this.#perShard, rankOf(position));
    });
  }

  async read(shard: Shard, { after, limit }: { readonly after: string | undefined; readonly limit: number }) {
    const entries = this.#log.of(shard, { after: rankOf(after ?? FEED_START), limit });
    return { entries, hasGap: after !== undefined && rankOf(after) < this.#log.dropped(shard) };
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
    const { at } = hourOf(occurredAt);
    this.#add(mcpServerId, { at, kind, step, provider });
    if (!decided.has(step) || tookMs === undefined) return;
    const withinSeconds = Math.min(2 ** Math.max(0, Math.ceil(Math.log2(tookMs / 1_000))), LONGEST_S);
    this.#add(mcpServerId, { at, kind, withinSeconds });
  }

  async size(mcpServerId: string, day: string) {
    return this.#rows.sumOf(countedOn(day, mcpServerId)).count;
  }

  async read(mcpServerId: string, day: string) {
    const counts = this.#rows.of(countedOn(day, mcpServerId)).map(({ whose: _, ...count }): Count => count);
    return {
      steps: counts.filter(count => 'step' in count),
      decisions: counts.filter(count => 'withinSeconds' in count),
    };
  }

  #add(mcpServerId: string, of: Omit<StepCount, 'count'> | Omit<DecisionCount, 'count'>): void {
    const id = JSON.stringify([mcpServerId, of]);
    const whose = countedOn(dayOf(of.at), mcpServerId);
    this.#rows.put(id, { ...of, whose, count: (this.#rows.get(id)?.count ?? 0) + 1 });
  }
}

const countedOn = (day: string, mcpServerId: string) => `${day} ${mcpServerId}`;

function stepOf({ eventId, type }: OutboxEntry['event']): CountedStep | undefined {
  const status = type.slice('elicitation.'.length);
  const version = eventId.slice(eventId.lastIndexOf('.') + 1);
  if (version === '1') return 'issued';
  return countedSteps.find(step => step === status) ?? (version === '2' ? 'opened' : undefined);
}
