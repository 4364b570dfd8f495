import type { Notifier, Watch } from '@postern/elicitation';

/** Wakes the waiters of this process. */
export class MemoryNotifier implements Notifier {
  readonly #watches = new Set<{ readonly id: string; readonly wake: () => void }>();

  wake(id: string): void {
    for (const watch of this.#watches) if (watch.id === id) watch.wake();
  }

  watch(id: string): Watch {
    let isWoken = false;
    let finish: (() => void) | undefined;
    const registration = {
      id,
      wake: () => {
        isWoken = true;
        finish?.();
      },
    };
    this.#watches.add(registration);
    return {
      next: async (timeoutMs, signal) => {
        if (!isWoken && timeoutMs > 0 && signal?.aborted !== true && this.#watches.has(registration)) {
          await new Promise<void>(resolve => {
            const timer = setTimeout(resolve, timeoutMs);
            signal?.addEventListener('abort', () => finish?.(), { once: true });
            finish = () => {
              clearTimeout(timer);
              resolve();
            };
          });
          finish = undefined;
        }
        isWoken = false;
      },
      [Symbol.dispose]: () => {
        this.#watches.delete(registration);
        finish?.();
      },
    };
  }
}
