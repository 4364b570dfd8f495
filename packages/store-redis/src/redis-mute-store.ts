import { type Mute, type MuteStore, type Subject, shardOf } from '@postern/elicitation';
import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, listOf, numberOf } from './reply.ts';

export class RedisMuteStore implements MuteStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async list(subject: Subject): Promise<readonly Mute[]> {
    const found = fieldsOf(await this.#link.call('hgetall', this.#keyOf(subject)));
    return found
      .map(([mcpServerId, mutedAt]) => ({ mcpServerId, mutedAt: numberOf(mutedAt) }))
      .sort((a, b) => a.mutedAt - b.mutedAt || (a.mcpServerId < b.mcpServerId ? -1 : 1));
  }

  mute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#set(subject, mcpServerId, 'muted');
  }

  unmute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#set(subject, mcpServerId, 'heard');
  }

  async clear(subject: Subject): Promise<void> {
    await this.#link.call('del', this.#keyOf(subject));
  }

  async #set(subject: Subject, mcpServerId: string, as: 'muted' | 'heard'): Promise<boolean> {
    const parameters = [this.#link.clock(), mcpServerId, as];
    const reply = await this.#link.run('setMute', [this.#keyOf(subject)], parameters, { repeatable: true });
    return listOf(reply)[0] === 'changed';
  }

  #keyOf(subject: Subject): string {
    return this.#keys.mutedBy(shardOf(subject), subject);
  }
}
