import type { Clock, Mute, MuteStore, Subject } from '@postern/elicitation';

/** The port of mutes in one process. */
export class MemoryMuteStore implements MuteStore {
  readonly #now: Clock;
  readonly #mutes = new Map<string, Map<string, Mute>>();

  constructor(now: Clock) {
    this.#now = now;
  }

  /** Called by the verb that would create an elicitation. */
  isMuted(subject: Subject, mcpServerId: string): boolean {
    return this.#of(subject).has(mcpServerId);
  }

  async list(subject: Subject): Promise<readonly Mute[]> {
    return [...this.#of(subject).values()].sort(
      (a, b) => a.mutedAt - b.mutedAt || (a.mcpServerId < b.mcpServerId ? -1 : 1),
    );
  }

  async mute(subject: Subject, mcpServerId: string): Promise<boolean> {
    const mutes = this.#of(subject);
    if (mutes.has(mcpServerId)) return false;
    mutes.set(mcpServerId, { mcpServerId, mutedAt: this.#now() });
    return true;
  }

  async unmute(subject: Subject, mcpServerId: string): Promise<boolean> {
    return this.#of(subject).delete(mcpServerId);
  }

  async clear(subject: Subject): Promise<void> {
    this.#of(subject).clear();
  }

  #of({ issuer, subject }: Subject): Map<string, Mute> {
    const key = JSON.stringify([issuer, subject]);
    const found = this.#mutes.get(key) ?? new Map<string, Mute>();
    this.#mutes.set(key, found);
    return found;
  }
}
