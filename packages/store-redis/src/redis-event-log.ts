import {
  type Elicitation,
  type ElicitationEvent,
  type ElicitationStatus,
  eventOf,
  parseElicitationId,
  type Shard,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf } from './reply.ts';

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
    const entries = listOf(await this.#link.call('xrange', this.#keys.events(shard), from, '+', 'COUNT', p.limit));
    return entries.map(entry => {
      const [position, fields] = listOf(entry);
      return { position: textOf(position), event: eventIn(listOf(fields)) };
    });
  }
}

function eventIn(fields: readonly unknown[]): ElicitationEvent {
  const field = (name: string) => fields[fields.indexOf(name) + 1];
  const elicitationId = parseElicitationId(textOf(field('elicitationId')));
  if (elicitationId === undefined) throw new TypeError('Redis answered with something other than an event.');
  return eventOf({
    elicitationId,
    version: numberOf(field('version')),
    // Written by the same scripts that check the record; the status and kind are from closed sets.
    status: textOf(field('status')) as ElicitationStatus,
    mcpServerId: textOf(field('mcpServerId')),
    request: { kind: textOf(field('kind')) } as Elicitation['request'],
  });
}
