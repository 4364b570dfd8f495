import {
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  parseConnectionId,
  type Subject,
  shardOf,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { decodeConnection } from './record-codec.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, numberOf, textOf } from './reply.ts';

/** Connections are written by the move that completes their elicitation, so there is no verb for it here. */
export class RedisConnectionStore implements ConnectionStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async read(connectionId: ConnectionId): Promise<Connection | undefined> {
    const key = this.#keys.connection(connectionId);
    const found = listOf(await this.#link.call('hmget', key, 'generation', 'createdAt', 'updatedAt', 'record'));
    return isAbsent(found[0]) ? undefined : connectionOf(connectionId, found);
  }

  async list(of: { readonly owner: string; readonly subject: Subject }): Promise<readonly Connection[]> {
    const index = this.#keys.connectionsOf(shardOf(of.subject), of.owner, of.subject);
    const ids = listOf(await this.#link.call('smembers', index)).map(value => parseConnectionId(textOf(value)));
    const connections = await Promise.all(ids.map(id => (id === undefined ? undefined : this.read(id))));
    return connections
      .filter(connection => connection !== undefined)
      .sort((a, b) => a.createdAt - b.createdAt || (a.connectionId < b.connectionId ? -1 : 1));
  }
}

/** Reads generation, createdAt, updatedAt, record. */
export function connectionOf(connectionId: ConnectionId, found: readonly unknown[]): Connection {
  const [generation, createdAt, updatedAt, record] = found;
  return decodeConnection(textOf(record), {
    connectionId,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
  });
}
