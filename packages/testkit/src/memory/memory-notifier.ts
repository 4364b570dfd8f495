import type { ElicitationId, Notifier, Watch } from '@postern/elicitation';

/** Wakes whoever waits in this process. */
export class MemoryNotifier implements Notifier {
  readonly #watches = new Set<{ readonly elicitationId: ElicitationId; readonly wake: () => void }>();

  wake(elicitationId: ElicitationId): void {
    for (const watch of this.#watches) if (watch.elicitationId === elicitationId) watch.wake();
  }

  watch(elicitationId: ElicitationId): Watch {
    let isWoken = false;
    let finish: (() => void) | undefined;
    const registration = {
      elicitationId,
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
