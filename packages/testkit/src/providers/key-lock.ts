/** Runs tasks with the same key one after another. */
export class KeyLock {
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tails.set(key, promise);
    if (before) await before;
    try {
      return await work();
    } finally {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    }
  }
}
