import { type ConnectionId, type ElicitationId, parseElicitationId, type Shard, shardIn } from './ids.ts';

/** Registered before a read, so that a change between reading and waiting is not lost. */
export interface Watch extends Disposable {
  /** Resolves on a wake-up since the last call, after `timeoutMs`, or on abort. Only a hint: the caller reads again. */
  next(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Notifier {
  watch(id: ElicitationId | ConnectionId): Watch;
}

type CommitListener = (shard: Shard | undefined) => void;

/** The waiters of this process, each for one id or for all commits. Wake-ups without a waiter are dropped; nothing is queued. */
export class Waiters implements Notifier {
  readonly #watches = new Map<string, Set<WaiterWatch>>();
  readonly #commitListeners = new Set<CommitListener>();

  /** @param id an id that wake-ups name: an elicitation, a connection, a feed */
  watch(id: string): Watch {
    const watch = new WaiterWatch(() => this.#drop(id, watch));
    const others = this.#watches.get(id);
    if (others) others.add(watch);
    else this.#watches.set(id, new Set([watch]));
    return watch;
  }

  /** Calls the listener with the shard of every commit in any process, and with undefined if wake-ups may have been lost. */
  onCommit(listener: CommitListener): Disposable {
    this.#commitListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#commitListeners.delete(listener) };
  }

  /** @param id as in `watch`. Every commit wakes the waiters of its elicitation. */
  wake(id: string): void {
    for (const watch of this.#watches.get(id) ?? []) watch.wake();
    if (this.#commitListeners.size === 0) return;
    const elicitationId = parseElicitationId(id);
    if (elicitationId !== undefined) this.#announceCommit(shardIn(elicitationId));
  }

  /** Wakes all waiters, because wake-ups may have been lost. */
  wakeAll(): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.wake();
    this.#announceCommit(undefined);
  }

  /** Number of ids with a waiter. */
  get size(): number {
    return this.#watches.size;
  }

  #announceCommit(shard: Shard | undefined): void {
    for (const listener of this.#commitListeners) listener(shard);
  }

  #drop(id: string, watch: WaiterWatch): void {
    const watches = this.#watches.get(id);
    if (watches?.delete(watch) && watches.size === 0) this.#watches.delete(id);
  }
}

class WaiterWatch implements Watch {
  readonly #unregister: () => void;
  /** A wake-up arrived outside `next`; the next wait must end immediately. */
  #isWoken = false;
  #isDisposed = false;
  #finish: (() => void) | undefined;

  constructor(unregister: () => void) {
    this.#unregister = unregister;
  }

  wake(): void {
    if (this.#finish) this.#finish();
    else this.#isWoken = true;
  }

  next(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#finish) throw new TypeError('A watch waits for one thing at a time.');
    if (this.#isWoken || this.#isDisposed || signal?.aborted || timeoutMs <= 0) {
      this.#isWoken = false;
      return Promise.resolve();
    }
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        this.#finish = undefined;
        resolve();
      };
      const timer = setTimeout(finish, timeoutMs);
      signal?.addEventListener('abort', finish, { once: true });
      this.#finish = finish;
    });
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#unregister();
    this.#finish?.();
  }
}
