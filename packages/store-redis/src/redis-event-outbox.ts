import {
  dayOf,
  type EventOutbox,
  type FeedRetention,
  type OutboxEntry,
  type Shard,
  shardIn,
  type Waiters,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { loggedIn } from './redis-event-log.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisPort } from './redis-port.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

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
