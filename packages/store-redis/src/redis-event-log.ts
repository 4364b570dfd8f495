import type { ElicitationEvent, Shard } from '@postern/elicitation';
import { eventIn, fieldReader } from './event-fields.ts';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf } from './reply.ts';

export interface LoggedEvent {
  /** Position in the shard's log; reading after it goes on from there. */
  readonly position: string;
  readonly event: ElicitationEvent;
}

/** The events of a shard in the order of their commits. Old ones are dropped by count, so it is no archive. */
export class RedisEventLog {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** @param after a position returned before; without it, reads from the oldest event kept. */
  async read(shard: Shard, p: { readonly after?: string; readonly limit: number }): Promise<readonly LoggedEvent[]> {
    const from = p.after === undefined ? '-' : `(${p.after}`;
    return loggedIn(await this.#link.call('xrange', this.#keys.events(shard), from, '+', 'COUNT', p.limit));
  }
}

/** @param reply of XRANGE on the events of a shard. */
export function loggedIn(reply: unknown): readonly LoggedEvent[] {
  return listOf(reply).map(entry => {
    const [position, fields] = listOf(entry);
    const field = fieldReader(listOf(fields));
    return { position: textOf(position), event: eventIn(field, textOf(field('mcpServerId'))) };
  });
}
