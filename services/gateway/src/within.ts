/** What the work brings, or `late` when it takes longer: it goes on by itself then, and nobody waits for it. */
export async function within<T, Late>(work: Promise<T>, ms: number, late: Late): Promise<T | Late> {
  using timer = new DisposableStack();
  const { promise, resolve } = Promise.withResolvers<Late>();
  timer.adopt(setTimeout(resolve, ms, late).unref(), clearTimeout);
  return await Promise.race([work, promise]);
}
