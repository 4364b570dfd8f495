import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '@postern/elicitation';
import type { Redis } from 'ioredis';
import { faultOf, RedisFault } from './redis-fault.ts';

export interface WakeUpSubscriptionOptions {
  /** Makes an unconnected connection that does not reconnect by itself; called for every attempt, so it can pick another node. */
  readonly open: () => Redis;
  readonly channel: string;
  /** Whether what is published still comes here. A failure, or no answer, means no. */
  readonly isSound: (redis: Redis) => Promise<boolean>;
  readonly onMessage: (message: string) => void;
  /** Listening again: anything may have been missed before. */
  readonly onListening: () => void;
  readonly onFault: (fault: RedisFault) => void;
  /** How often the connection proves that it is alive and sound. */
  readonly heartbeatMs: number;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The one subscription of a process. It lives until it is closed, over any number of connections. */
export class WakeUpSubscription {
  readonly #options: WakeUpSubscriptionOptions;
  readonly #closing = new AbortController();
  #loop: Promise<void> | undefined;
  #last = new RedisFault('refused', 'not_connected');
  #drop: (() => void) | undefined;

  constructor(options: WakeUpSubscriptionOptions) {
    this.#options = options;
  }

  /** Resolves when listening for the first time. @throws StoreUnavailableError after `withinMs`; call `close` then. */
  start(withinMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new StoreUnavailableError({ cause: this.#last })), withinMs);
    this.#loop ??= this.#listenForever(() => {
      clearTimeout(timer);
      resolve();
    });
    return promise;
  }

  /** Listens anew, because what is published may come from elsewhere by now. */
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
          this.#options.onListening();
        });
      } catch (error) {
        this.#report(error);
      }
      if (signal.aborted) return;
      await delay(pause, undefined, { ref: false });
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Ends when the connection does. */
  async #listen(onListening: () => void): Promise<void> {
    const { channel, isSound, heartbeatMs } = this.#options;
    const { signal } = this.#closing;
    const redis = this.#options.open();
    const ended = new Promise<void>(resolve => redis.once('end', resolve));
    const disconnect = () => redis.disconnect();
    redis.on('error', (error: unknown) => this.#report(error));
    redis.on('message', (_channel: string, message: string) => this.#options.onMessage(message));
    signal.addEventListener('abort', disconnect, { once: true });
    // A connection can die without a sign; then only a question without an answer tells.
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
