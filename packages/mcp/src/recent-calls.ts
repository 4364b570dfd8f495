import { lastExpiry, type Step } from './steps.ts';

interface Entry {
  readonly steps: readonly Step[];
  readonly forgetAt: number;
  readonly size: number;
}

/** What one user's calls left, the oldest first. */
interface Memory {
  readonly entries: Map<string, Entry>;
  size: number;
}

/** Names a call across retries that carry nothing of ours. */
export interface CallKey {
  readonly user: string;
  /** Tool and arguments. */
  readonly call: string;
}

/** Milliseconds past the expiry of a question during which a call may still learn how it ended. */
const GRACE_MS = 10 * 60_000;
/** Characters of all steps together; what MCP clients type into forms is among them. */
const MAX_SIZE = 16 * 1024 * 1024;

/**
 * How far a call got, for MCP clients that carry nothing from one call to the next. The gateway opens a new elicitation once
 * the old one has ended, so without this a decline on the page would be answered with the same question again, and what was
 * redeemed before a later question would be lost. One process's memory: another replica asks again, which is safe, only less
 * polite. Where there is not room for all, the user who fills most of it loses first: nobody can make others be asked twice.
 *
 * An entry is taken by the call that goes on with it. A second, equal call that is under way at the same time finds nothing,
 * redeems under a name of its own and is refused by the gateway, so that it never gets what was approved for the first.
 */
export class RecentCalls {
  readonly #users = new Map<string, Memory>();
  readonly #limit: number;
  readonly #now: () => number;
  #count = 0;
  #size = 0;

  constructor(limit: number, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  remember(key: CallKey, steps: readonly Step[]): void {
    this.#forget(key);
    const size = JSON.stringify(steps).length;
    const memory = this.#users.get(key.user) ?? { entries: new Map<string, Entry>(), size: 0 };
    this.#users.set(key.user, memory);
    memory.entries.set(key.call, { steps, forgetAt: lastExpiry(steps) + GRACE_MS, size });
    memory.size += size;
    this.#count += 1;
    this.#size += size;
    while (this.#count > this.#limit || this.#size > MAX_SIZE) this.#makeRoom();
  }

  /** At most one caller gets what was remembered. */
  take(key: CallKey): readonly Step[] | undefined {
    const entry = this.#find(key);
    this.#forget(key);
    return entry !== undefined && entry.forgetAt > this.#now() ? entry.steps : undefined;
  }

  /** A call that carries these steps itself goes on with them: they are nobody else's any more. */
  discard(key: CallKey, steps: readonly Step[]): void {
    const carried = new Set(steps.map(({ redemption }) => redemption));
    if (this.#find(key)?.steps.some(({ redemption }) => carried.has(redemption)) === true) this.#forget(key);
  }

  #find({ user, call }: CallKey): Entry | undefined {
    return this.#users.get(user)?.entries.get(call);
  }

  #forget({ user, call }: CallKey): void {
    const memory = this.#users.get(user);
    const entry = memory?.entries.get(call);
    if (memory === undefined || entry === undefined) return;
    memory.entries.delete(call);
    memory.size -= entry.size;
    this.#count -= 1;
    this.#size -= entry.size;
    if (memory.entries.size === 0) this.#users.delete(user);
  }

  #makeRoom(): void {
    const [user, memory] = [...this.#users].reduce((most, one) => (one[1].size > most[1].size ? one : most));
    const [oldest] = memory.entries.keys();
    if (oldest !== undefined) this.#forget({ user, call: oldest });
  }
}
