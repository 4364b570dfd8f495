/** Starts all resources concurrently. If one fails, disposes the others, even those still starting, and throws its error. */
export async function startAll<T extends AsyncDisposable>(starts: readonly Promise<T>[]): Promise<readonly T[]> {
  const outcomes = await Promise.allSettled(starts);
  const started = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find(outcome => outcome.status === 'rejected');
  if (failed === undefined) return started;
  await Promise.all(started.map(each => each[Symbol.asyncDispose]()));
  throw failed.reason;
}
