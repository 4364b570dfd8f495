/** Maximum delay of a Node.js timer, in milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Settles with the first promise that settles. Resolves with undefined after `ms`.
 *
 * @throws the signal's reason
 */
export async function firstOf<T>(
  promises: readonly Promise<T>[],
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const timer = ms <= MAX_TIMER_MS ? setTimeout(resolve, ms, undefined) : undefined;
  try {
    return await Promise.race([...promises, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
