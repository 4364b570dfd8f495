import { StoreUnavailableError } from '@postern/elicitation';

/**
 * The guarantee behind an acknowledgement (docs/redis.md):
 * - `single`: the write is in the append-only file, which Redis flushes at least every second.
 * - `single-strict`: the write is on disk.
 * - `ha`: replicas have the write too. Unconfirmed writes are not acknowledged.
 */
export const durabilityProfiles = ['single', 'single-strict', 'ha'] as const;
export type DurabilityProfile = (typeof durabilityProfiles)[number];

export interface DurabilityOptions {
  /** Default `single`. */
  readonly profile?: DurabilityProfile;
  /** Number of replicas that must have a write before it is acknowledged, in profile `ha`. Default 1. */
  readonly replicas?: number;
  /** Maximum wait for the acknowledgement of replicas, in ms. Default 500. */
  readonly timeoutMs?: number;
}

export const DEFAULT_REPLICAS = 1;
export const DEFAULT_CONFIRM_MS = 500;

export type UnsafeSetting =
  | 'appendonly'
  | 'appendfsync'
  | 'maxmemory-policy'
  | 'maxmemory'
  | 'default-user'
  | 'min-replicas-to-write'
  | 'replicas'
  | 'role'
  | 'redis_version'
  | 'config';

/** Redis would lose or evict data that the store promises to keep. The message names the setting and the remedy. */
export class UnsafeRedisError extends Error {
  override name = 'UnsafeRedisError';
  readonly setting: UnsafeSetting;

  constructor(setting: UnsafeSetting, message: string) {
    super(message);
    this.setting = setting;
  }
}

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
