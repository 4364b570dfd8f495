import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError, type Waiters } from '@postern/elicitation';
import type { Redis } from 'ioredis';
import { faultOf, RedisFault } from './redis-fault.ts';

export interface WakeUpSubscriptionOptions {
  /**
   * Creates a connection that is not connected and does not reconnect. Called for every attempt, so it can choose another node.
   */
  readonly open: () => Redis;
  readonly channel: string;
  /** Whether published messages still reach this connection. A failure, or no reply, means no. */
  readonly isSound: (redis: Redis) => Promise<boolean>;
  /**
   * Woken by each message. All of them are woken whenever the subscription starts, because wake-ups may have been lost before.
   */
  readonly waiters: Waiters;
  readonly onFault: (fault: RedisFault) => void;
  /** Interval of the checks that the connection is alive and receives messages. */
  readonly heartbeatMs: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The wake-up subscription of a process. It reconnects until it is closed. */
export class WakeUpSubscription {
  readonly #options: WakeUpSubscriptionOptions;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;
  #last = new RedisFault('refused', 'not_connected');
  #drop: (() => void) | undefined;

  constructor(options: WakeUpSubscriptionOptions) {
    this.#options = options;
  }

  /** Resolves when the first subscription is active. @throws StoreUnavailableError after `withinMs`; call `close` then. */
  start(withinMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new StoreUnavailableError({ cause: this.#last })), withinMs);
    this.#loop ??= this.#listenForever(() => {
      clearTimeout(timer);
      resolve();
    });
    return promise;
  }

  /** Subscribes again, because another node may now publish the messages. */
  renew(): void {
    this.#drop?.();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  async #listenForever(onFirst: () => void): Promise<void> {
    const { signal } = this.#closing;
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        await this.#listen(() => {
          pause = FIRST_PAUSE_MS;
          onFirst();
          this.#options.waiters.wakeAll();
        });
      } catch (error) {
        this.#report(error);
      }
      if (signal.aborted) return;
      await delay(pause, undefined, { ref: false });
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Ends with the connection. */
  async #listen(onListening: () => void): Promise<void> {
    const { channel, isSound, waiters, heartbeatMs } = this.#options;
    const { signal } = this.#closing;
    const redis = this.#options.open();
    const ended = new Promise<void>(resolve => redis.once('end', resolve));
    const disconnect = () => redis.disconnect();
    redis.on('error', (error: unknown) => this.#report(error));
    redis.on('message', (_channel: string, message: string) => waiters.wake(message));
    signal.addEventListener('abort', disconnect, { once: true });
    // A connection can die silently; only a request without a reply reveals that.
    const beat = async () => {
      if (!(await isSound(redis).catch(() => false))) disconnect();
    };
    const heartbeat = setInterval(() => void beat(), heartbeatMs);
    heartbeat.unref();
    this.#drop = disconnect;
    try {
      await redis.connect();
      await redis.subscribe(channel);
      onListening();
      await ended;
    } finally {
      clearInterval(heartbeat);
      this.#drop = undefined;
      signal.removeEventListener('abort', disconnect);
      redis.disconnect();
    }
  }

  #report(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    this.#last = faultOf(error);
    this.#options.onFault(this.#last);
  }
}
