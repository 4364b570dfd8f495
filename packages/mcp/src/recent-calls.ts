import { lastExpiry, type Step } from './steps.ts';

interface Entry {
  readonly steps: readonly Step[];
  readonly forgetAt: number;
  readonly size: number;
}

/** Milliseconds past the expiry of a question during which a call may still learn how it ended. */
const GRACE_MS = 10 * 60_000;
/** Characters of all steps together; what MCP clients type into forms is among them. */
const MAX_SIZE = 16 * 1024 * 1024;

/**
 * How far a call got, for MCP clients that carry nothing from one call to the next. The gateway opens a new elicitation once
 * the old one has ended, so without this a decline on the page would be answered with the same question again, and what was
 * redeemed before a later question would be lost. One process's memory: another replica asks again, which is safe, only less
 * polite.
 *
 * An entry is taken by the call that goes on with it. A second, equal call that is under way at the same time finds nothing,
 * redeems under a name of its own and is refused by the gateway, so that it never gets what was approved for the first.
 */
export class RecentCalls {
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;
  readonly #now: () => number;
  #size = 0;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  remember(key: string, steps: readonly Step[]): void {
    this.#forget(key);
    const size = JSON.stringify(steps).length;
    this.#entries.set(key, { steps, forgetAt: lastExpiry(steps) + GRACE_MS, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit && this.#size <= MAX_SIZE) break;
      this.#forget(oldest);
    }
  }

  /** At most one caller gets what was remembered. */
  take(key: string): readonly Step[] | undefined {
    const entry = this.#entries.get(key);
    this.#forget(key);
    return entry !== undefined && entry.forgetAt > this.#now() ? entry.steps : undefined;
  }

  /** A call that carries these steps itself goes on with them: they are nobody else's any more. */
  discard(key: string, steps: readonly Step[]): void {
    const carried = new Set(steps.map(({ redemption }) => redemption));
    if (this.#entries.get(key)?.steps.some(({ redemption }) => carried.has(redemption)) === true) this.#forget(key);
  }

  #forget(key: string): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
