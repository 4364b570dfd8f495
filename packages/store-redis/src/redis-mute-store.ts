import { type Mute, type MuteStore, oldestFirst, type Subject, shardOf } from '@postern/elicitation';
import { RedisPort } from './redis-link.ts';
import { fieldsOf, listOf, numberOf } from './script.ts';

export class RedisMuteStore extends RedisPort implements MuteStore {
  async list(subject: Subject): Promise<readonly Mute[]> {
    const found = fieldsOf(await this.link.call('hgetall', this.#keyOf(subject)));
    return found
      .map(([mcpServerId, mutedAt]) => ({ mcpServerId, mutedAt: numberOf(mutedAt) }))
      .sort(oldestFirst(({ mcpServerId: id, mutedAt: at }) => ({ id, at })));
  }

  mute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#set(subject, mcpServerId, true);
  }

  unmute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#set(subject, mcpServerId, false);
  }

  async clear(subject: Subject): Promise<void> {
    await this.link.call('del', this.#keyOf(subject));
  }

  async #set(subject: Subject, mcpServerId: string, isMuted: boolean): Promise<boolean> {
    const reply = await this.repeatable('setMute', { mutedBy: this.#keyOf(subject) }, { mcpServerId, isMuted });
    return listOf(reply)[0] === 'changed';
  }

  #keyOf(subject: Subject): string {
    return this.keys.mutedBy(shardOf(subject), subject);
  }
}
