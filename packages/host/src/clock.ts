/** The clock of this package, in milliseconds, with waits that can be aborted. */
export interface Clock {
  now(): number;
  /** Resolves after `milliseconds`, or at once when `signal` aborts. Never rejects. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  async wait(milliseconds, signal) {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    // A Node.js timer beyond a signed 32-bit integer fires at once.
    const timer = setTimeout(resolve, Math.min(milliseconds, 2_147_483_647));
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  },
};

/** The work, or a rejection with the reason of the signal once it aborts. The work itself goes on. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
