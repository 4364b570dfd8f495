import type { Notifier, Watch } from '@postern/elicitation';

/** Who waits for what in this process. Wake-ups without a waiter are dropped; nothing is queued. */
export class Waiters implements Notifier {
  readonly #watches = new Map<string, Set<WaiterWatch>>();

  /** @param id whatever wake-ups name: an elicitation, a connection, a feed. */
  watch(id: string): Watch {
    const watch = new WaiterWatch(() => this.#drop(id, watch));
    const others = this.#watches.get(id);
    if (others) others.add(watch);
    else this.#watches.set(id, new Set([watch]));
    return watch;
  }

  wake(id: string): void {
    for (const watch of this.#watches.get(id) ?? []) watch.wake();
  }

  wakeAll(): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.wake();
  }

  /** Number of things somebody waits for. */
  get size(): number {
    return this.#watches.size;
  }

  #drop(id: string, watch: WaiterWatch): void {
    const watches = this.#watches.get(id);
    if (watches?.delete(watch) && watches.size === 0) this.#watches.delete(id);
  }
}

class WaiterWatch implements Watch {
  readonly #unregister: () => void;
  /** A wake-up that came while nobody was inside `next`; it must end the following wait at once. */
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
