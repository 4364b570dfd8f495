import {
  dayOf,
  type Elicitation,
  type ElicitationEvent,
  type ElicitationStatus,
  type EventFeed,
  type EventLog,
  type EventOutbox,
  eventOf,
  FEED_START,
  type FeedEvent,
  type FeedPage,
  type FeedRetention,
  type LoggedEvent,
  type OutboxEntry,
  PAYMENT_VERSIONS,
  parseElicitationId,
  paymentEventOf,
  paymentEventTypes,
  type Shard,
  shardIn,
  type Waiters,
  type Watch,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { type RedisLink, RedisPort } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf } from './script.ts';

/** One stream of Redis per shard, which the scripts of transitions write. */
export class RedisEventLog extends RedisPort implements EventLog {
  async read(shard: Shard, p: { readonly after?: string; readonly limit: number }): Promise<readonly LoggedEvent[]> {
    const from = p.after === undefined ? '-' : `(${p.after}`;
    return loggedIn(await this.link.call('xrange', this.keys.events(shard), from, '+', 'COUNT', p.limit));
  }
}

/** @param reply of XRANGE on the events of a shard */
function loggedIn(reply: unknown): readonly LoggedEvent[] {
  return listOf(reply).map(entry => {
    const [position, fields] = listOf(entry);
    const field = fieldReader(listOf(fields));
    const [provider, tookMs] = [field('provider'), field('tookMs')];
    return {
      position: textOf(position),
      event: eventIn(field, textOf(field('mcpServerId'))),
      ...(isAbsent(provider) || provider === '' ? {} : { provider: textOf(provider) }),
      ...(isAbsent(tookMs) ? {} : { tookMs: numberOf(tookMs) }),
    };
  });
}

/** Reads the fields of a stream entry by name. */
function fieldReader(fields: readonly unknown[]): (name: string) => unknown {
  // Names are at even places: a value may equal a name.
  return name => fields[fields.findIndex((field, at) => at % 2 === 0 && field === name) + 1 || fields.length];
}

/** Reads the stream entry that a script wrote for a committed transition. */
function eventIn(field: (name: string) => unknown, mcpServerId: string): ElicitationEvent {
  const elicitationId = parseElicitationId(textOf(field('elicitationId')));
  if (elicitationId === undefined) throw new TypeError('Redis answered with something other than an event.');
  const version = numberOf(field('version'));
  const status = textOf(field('status'));
  const paymentEvent = paymentEventTypes.find(type => type === status);
  if (paymentEvent !== undefined)
    return paymentEventOf({ elicitationId, mcpServerId }, { type: paymentEvent, version: version - PAYMENT_VERSIONS });
  return eventOf({
    elicitationId,
    version,
    // The scripts that write these fields also check the record; status and kind are from closed sets.
    status: status as ElicitationStatus,
    mcpServerId,
    request: { kind: textOf(field('kind')) } as Elicitation['request'],
  });
}

/** Minimum number of carried entries per shard that stay in the outbox. */
export const CARRIED_KEPT = 64;
/** A feed without events stays known for this multiple of the event retention. */
const KNOWN_AGES = 4;

/**
 * Carries events from the outbox to the feed. They are in different slots, so this takes two scripts: first the feed, which knows
 * what it has, then the cursor. If a relay is killed in between, the next one carries the same events and the feed skips them.
 */
export class RedisEventOutbox extends RedisPort implements EventOutbox {
  readonly #waiters: Waiters;
  readonly #retention: FeedRetention;
  readonly #countRetentionMs: number;

  constructor(
    link: RedisLink,
    keys: Keys,
    options: { waiters: Waiters; retention: FeedRetention; countRetentionMs: number },
  ) {
    super(link, keys);
    this.#waiters = options.waiters;
    this.#retention = options.retention;
    this.#countRetentionMs = options.countRetentionMs;
  }

  async cursor(shard: Shard): Promise<string | undefined> {
    const position = await this.link.call('get', this.keys.cursor(shard));
    return isAbsent(position) ? undefined : textOf(position);
  }

  async moveCursor(shard: Shard, position: string): Promise<void> {
    await this.repeatable(
      'moveCursor',
      { cursor: this.keys.cursor(shard), events: this.keys.events(shard) },
      { position, carriedKept: CARRIED_KEPT },
    );
  }

  async read(shard: Shard, { after, limit }: { readonly after: string | undefined; readonly limit: number }) {
    // Starts at the entry that was read last: while that entry exists, no later one can have been dropped.
    const logged = loggedIn(
      await this.link.callFor('readOutbox', 'xrange', this.keys.events(shard), after ?? '-', '+', 'COUNT', limit + 1),
    );
    const isContinued = logged[0]?.position === after;
    return {
      entries: logged.slice(isContinued ? 1 : 0, isContinued ? limit + 1 : limit).map(entry => ({
        ...entry,
        occurredAt: Number(entry.position.split('-', 1)[0]),
      })),
      hasGap: after !== undefined && !isContinued,
    };
  }

  async carry(mcpServerId: string, entries: readonly OutboxEntry[]): Promise<number> {
    // The counts of a day are one key, which a script must declare. Within a shard, a later day is always a later entry.
    const days = [...Map.groupBy(entries, ({ occurredAt }) => dayOf(occurredAt))].sort(([a], [b]) => (a < b ? -1 : 1));
    let added = 0;
    for (const [day, own] of days) added += await this.#carry(mcpServerId, day, own);
    return added;
  }

  async #carry(mcpServerId: string, day: string, entries: readonly OutboxEntry[]): Promise<number> {
    const { events, maxAgeMs } = this.#retention;
    const reply = await this.repeatable(
      'carryEvents',
      {
        feed: this.keys.feed(mcpServerId),
        feedFacts: this.keys.feedFacts(mcpServerId),
        counts: this.keys.counts(mcpServerId, day),
      },
      {
        eventsKept: events,
        retentionMs: maxAgeMs,
        factsRetentionMs: maxAgeMs * KNOWN_AGES,
        wakeUpChannel: this.keys.wake,
        wakeUp: this.keys.feedWakeUp(mcpServerId),
        countRetentionMs: this.#countRetentionMs,
        events: entries.map(carried),
      },
    );
    return Number(listOf(reply)[0]);
  }

  onCommit(listener: (shard: Shard | undefined) => void): Disposable {
    return this.#waiters.onCommit(listener);
  }
}

function carried({ position, event, occurredAt, provider, tookMs }: OutboxEntry) {
  const { eventId, elicitationId, type, kind } = event;
  return {
    shard: shardIn(elicitationId),
    position,
    elicitationId,
    version: eventId.slice(eventId.lastIndexOf('.') + 1),
    // The type of an event of a payment takes the place of the status.
    status: type.startsWith('elicitation.') ? type.slice(type.indexOf('.') + 1) : type,
    kind,
    occurredAt,
    provider,
    tookMs,
  };
}

/** The feeds of all MCP servers, each in a separate slot. */
export class RedisEventFeed extends RedisPort implements EventFeed {
  readonly #waiters: Waiters;
  readonly #maxAgeMs: number;

  constructor(link: RedisLink, keys: Keys, options: { waiters: Waiters; maxAgeMs: number }) {
    super(link, keys);
    this.#waiters = options.waiters;
    this.#maxAgeMs = options.maxAgeMs;
  }

  async read(
    mcpServerId: string,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<FeedPage> {
    const [result, ...entries] = listOf(
      await this.repeatable(
        'readFeed',
        { feed: this.keys.feed(mcpServerId), feedFacts: this.keys.feedFacts(mcpServerId) },
        { after, limit, retentionMs: this.#maxAgeMs },
      ),
    );
    if (result === 'gone') return { result };
    return { result: 'events', events: entries.map(entry => feedEventIn(mcpServerId, entry)) };
  }

  async newest(mcpServerId: string): Promise<string> {
    const position = await this.link.callFor('readFeedEnd', 'hget', this.keys.feedFacts(mcpServerId), 'last');
    return isAbsent(position) ? FEED_START : textOf(position);
  }

  watch(mcpServerId: string): Watch {
    return this.#waiters.watch(this.keys.feedWakeUp(mcpServerId));
  }
}

function feedEventIn(mcpServerId: string, entry: unknown): FeedEvent {
  const [position, fields] = listOf(entry);
  const field = fieldReader(listOf(fields));
  return {
    ...eventIn(field, mcpServerId),
    position: textOf(position),
    occurredAt: numberOf(field('occurredAt')),
  };
}
