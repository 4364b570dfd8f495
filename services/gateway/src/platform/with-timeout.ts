/** Resolves with the result of `work`, or with `late` after `ms` milliseconds. The work keeps running in the background. */
export async function withTimeout<T, Late>(work: Promise<T>, ms: number, late: Late): Promise<T | Late> {
  using timer = new DisposableStack();
  const { promise, resolve } = Promise.withResolvers<Late>();
  timer.adopt(setTimeout(resolve, ms, late).unref(), clearTimeout);
  return await Promise.race([work, promise]);
}
