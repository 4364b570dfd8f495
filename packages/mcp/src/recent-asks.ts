interface Entry {
  readonly elicitationId: string;
  readonly forgetAt: number;
}

/** Milliseconds past an elicitation's expiry during which a call may still learn how it ended. */
const GRACE_MS = 10 * 60_000;

/**
 * Which elicitation a call was last answered with, for MCP clients that carry nothing from one call to the next. The
 * gateway opens a new elicitation once the old one has ended, so without this a decline on the page would be answered with
 * the same question again. One process's memory: another replica asks again, which is safe, only less polite.
 */
export class RecentAsks {
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;
  readonly #now: () => number;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  remember(key: string, elicitationId: string, expiresAt: string): void {
    this.#entries.delete(key);
    this.#entries.set(key, { elicitationId, forgetAt: Date.parse(expiresAt) + GRACE_MS });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(oldest);
    }
  }

  recall(key: string): string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.forgetAt > this.#now()) return entry.elicitationId;
    this.#entries.delete(key);
    return undefined;
  }

  /** Only forgets what the caller has read, so that a parallel call's newer entry stays. */
  forget(key: string, elicitationId: string): void {
    if (this.#entries.get(key)?.elicitationId === elicitationId) this.#entries.delete(key);
  }
}
