import { StoreUnavailableError } from '@postern/elicitation';
import { UnsafeRedisError, type UnsafeSetting } from './unsafe-redis-error.ts';

export type DurabilityChange =
  | { readonly holds: true }
  /** The setting that breaks durability, or `unknown` while Redis does not answer. */
  | { readonly holds: false; readonly reason: UnsafeSetting | 'unknown' };

export interface DurabilityWatchOptions {
  /** @throws UnsafeRedisError, StoreUnavailableError */
  readonly check: () => Promise<void>;
  readonly intervalMs: number;
  /** Called once per change. Durability holds when the watch starts. */
  readonly onChange: (change: DurabilityChange) => void;
}

/**
 * Repeats the start checks by a timer and on request, because settings and replicas of Redis can change while it runs. A check
 * without a reply counts only from the second in a row: a process that is busy starting can miss the deadline of a command whose
 * reply has already arrived.
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

  /** Starts the timer. */
  start(): void {
    // `onChange` reports failures.
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
