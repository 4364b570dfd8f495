import type { Clock } from '../clock.ts';

interface Wait {
  readonly milliseconds: number;
  readonly at: number;
  readonly resolve: () => void;
}

/** A clock that only the test advances. */
export class ManualClock implements Clock {
  /** All requested waits, in order. */
  readonly asked: number[] = [];
  readonly #waits = new Set<Wait>();
  readonly #listeners = new Set<() => void>();
  #now = 0;

  now(): number {
    return this.#now;
  }

  wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = { milliseconds, at: this.#now + milliseconds, resolve };
    this.asked.push(milliseconds);
    if (signal.aborted) resolve();
    else {
      this.#waits.add(wait);
      const giveUp = () => {
        this.#waits.delete(wait);
        resolve();
      };
      signal.addEventListener('abort', giveUp, { once: true });
    }
    for (const listener of this.#listeners) listener();
    return promise;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const wait of this.#waits) {
      if (wait.at > this.#now) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
  }

  /** Resolves when a wait of `milliseconds` is pending. */
  async untilWaiting(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => void ([...this.#waits].some(wait => wait.milliseconds === milliseconds) && resolve());
    this.#listeners.add(check);
    check();
    await promise;
    this.#listeners.delete(check);
  }
}
