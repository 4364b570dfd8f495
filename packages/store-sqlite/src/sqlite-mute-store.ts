import { type Mute, type MuteStore, oldestFirst, type Subject } from '@postern/elicitation';
import type { Database } from './database.ts';
import { keyOf, Records } from './records.ts';

export class SqliteMuteStore implements MuteStore {
  readonly #database: Database;
  readonly #rows: Records<Mute & { readonly whose: string }>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Records(database, 'mute', ({ whose, mutedAt }) => ({ whose, rank: mutedAt }));
  }

  /** Called within the commit that would create an elicitation. */
  isMuted(subject: Subject, mcpServerId: string): boolean {
    return this.#rows.get(keyOf(subject, mcpServerId)) !== undefined;
  }

  async list(subject: Subject): Promise<readonly Mute[]> {
    return this.#rows
      .of(keyOf(subject))
      .map(({ mcpServerId, mutedAt }) => ({ mcpServerId, mutedAt }))
      .sort(oldestFirst(({ mcpServerId: id, mutedAt: at }) => ({ id, at })));
  }

  async mute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#database.commit(() => {
      if (this.isMuted(subject, mcpServerId)) return false;
      const mute = { mcpServerId, mutedAt: this.#database.now(), whose: keyOf(subject) };
      this.#rows.put(keyOf(subject, mcpServerId), mute);
      return true;
    });
  }

  async unmute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#database.commit(() => this.#rows.delete(keyOf(subject, mcpServerId)));
  }

  async clear(subject: Subject): Promise<void> {
    this.#database.commit(() => this.#rows.deleteOf(keyOf(subject)));
  }
}
