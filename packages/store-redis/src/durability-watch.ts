import { StoreUnavailableError } from '@postern/elicitation';
import { UnsafeRedisError, type UnsafeSetting } from './assert-safe-redis.ts';

export type DurabilityChange =
  | { readonly holds: true }
  /** Which setting breaks the promise; `unknown` while Redis cannot be asked. */
  | { readonly holds: false; readonly reason: UnsafeSetting | 'unknown' };

export interface DurabilityWatchOptions {
  /** @throws UnsafeRedisError, StoreUnavailableError */
  readonly check: () => Promise<void>;
  readonly intervalMs: number;
  /** Told once per change; it held when the watch began. */
  readonly onChange: (change: DurabilityChange) => void;
}

/**
 * Settings of Redis can be changed while it runs, and replicas come and go: what was true at the start is asked again, by a timer and
 * by whoever wants to know. A check without an answer counts from the second in a row: a process that is busy starting misses the
 * deadline of a command whose answer has arrived.
 */
export class DurabilityWatch implements Disposable {
  readonly #options: DurabilityWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #reason: UnsafeSetting | 'unknown' | undefined;
  #isUnanswered = false;
  #isClosed = false;

  constructor(options: DurabilityWatchOptions) {
    this.#options = options;
  }

  /** From now on by itself too. */
  start(): void {
    // A failure is told by `onChange`.
    this.#timer = setInterval(() => void this.check().catch(() => undefined), this.#options.intervalMs);
    this.#timer.unref();
  }

  /** @throws UnsafeRedisError, StoreUnavailableError */
  async check(): Promise<void> {
    try {
      await this.#options.check();
    } catch (error) {
      if (error instanceof UnsafeRedisError) {
        this.#note(error.setting);
        throw error;
      }
      if (this.#isUnanswered) this.#note('unknown');
      this.#isUnanswered = true;
      throw error instanceof StoreUnavailableError ? error : new StoreUnavailableError({ cause: error });
    }
    this.#note(undefined);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #note(reason: UnsafeSetting | 'unknown' | undefined): void {
    this.#isUnanswered = false;
    if (this.#isClosed || this.#reason === reason) return;
    this.#reason = reason;
    this.#options.onChange(reason === undefined ? { holds: true } : { holds: false, reason });
  }
}
