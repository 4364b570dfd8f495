import type { Notifier, Watch } from '@postern/elicitation';
import type { Database } from './database.ts';

/** Wakes the waiters of this process, the only one that has the file. */
export class SqliteNotifier implements Notifier {
  readonly #database: Database;
  readonly #watches = new Set<{ readonly id: string; readonly wake: () => void }>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Called within the commit. */
  wake(id: string): void {
    this.#database.afterCommit(() => {
      for (const watch of this.#watches) if (watch.id === id) watch.wake();
    });
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
