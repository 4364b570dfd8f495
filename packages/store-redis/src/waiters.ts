import type { ElicitationId, Notifier, Watch } from '@postern/elicitation';

/** Who waits for what in this process. Wake-ups without a waiter are dropped; nothing is queued. */
export class Waiters implements Notifier {
  readonly #watches = new Map<ElicitationId, Set<WaiterWatch>>();

  watch(elicitationId: ElicitationId): Watch {
    const watch = new WaiterWatch(() => this.#drop(elicitationId, watch));
    const others = this.#watches.get(elicitationId);
    if (others) others.add(watch);
    else this.#watches.set(elicitationId, new Set([watch]));
    return watch;
  }

  wake(elicitationId: string): void {
    for (const watch of this.#watches.get(elicitationId as ElicitationId) ?? []) watch.wake();
  }

  wakeAll(): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.wake();
  }

  /** Number of elicitations somebody waits for. */
  get size(): number {
    return this.#watches.size;
  }

  #drop(elicitationId: ElicitationId, watch: WaiterWatch): void {
    const watches = this.#watches.get(elicitationId);
    if (watches?.delete(watch) && watches.size === 0) this.#watches.delete(elicitationId);
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
