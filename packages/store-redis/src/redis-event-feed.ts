import {
  type EventFeed,
  FEED_START,
  type FeedEvent,
  type FeedPage,
  type Waiters,
  type Watch,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { eventIn, fieldReader } from './redis-event-log.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisPort } from './redis-port.ts';
import { isAbsent, listOf, numberOf, textOf } from './reply.ts';

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
