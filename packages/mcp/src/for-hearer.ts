import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a handler has ended, and when it does. */
export interface HandlerEnd {
  hasEnded: boolean;
  readonly ended: { readonly promise: Promise<void>; readonly resolve: () => void };
}

/**
 * Runs work for a handler. Its error is delivered only where the handler awaits it: where it does not, as in `items.forEach(async …)`, the
 * error would end the process.
 */
export function forHearer<T>(progress: HandlerEnd, work: () => Promise<T>): Promise<T> {
  // Something other than `await` waits, such as `then` or a compiled `await`.
  let isChained = false;
  const hear = async () => {
    try {
      return await work();
    } catch (error) {
      if (!(await isHeard(progress, isChained))) promise.catch(() => undefined);
      throw error;
    }
  };
  const promise = hear();
  const { then } = promise;
  Object.defineProperty(promise, 'then', {
    value(...handlers: Parameters<typeof then>) {
      isChained = true;
      return then.apply(promise, handlers);
    },
  });
  return promise;
}

/** A promise of its own each time: a shared one would keep all that waits for it. */
export const forever = () => new Promise<never>(() => undefined);

/** Milliseconds for which an error waits for the end of a handler that does not seem to await it. */
const UNHEARD_MS = 2000;

/**
 * Returns whether something awaits an error of the gate. An `await` is found in the asynchronous stack. What is not found waits for the
 * end of the handler, for a short time. Never returns once the handler has ended. To be awaited by the function whose promise the handler
 * has, which must have no other reaction: the stack does not go on beyond two.
 *
 * @param isChained whether something else than `await` waits, which the stack may not show
 */
async function isHeard(progress: HandlerEnd, isChained: boolean): Promise<boolean> {
  const isAwaiting = isAwaited() || isChained;
  if (!isAwaiting && (await seesAwaits())) {
    const time = new AbortController();
    await Promise.race([progress.ended.promise, sleep(UNHEARD_MS, undefined, { signal: time.signal }).catch(() => {})]);
    time.abort();
  }
  if (progress.hasEnded) await forever();
  return isAwaiting;
}

/** Runs a handler. Its frame in an asynchronous stack shows that the handler awaits the frames above it, so no other function may have its name. */
export async function runPosternHandler<T>(handler: () => T | Promise<T>): Promise<T> {
  return await handler();
}

/** True also where the stack cannot be read: programs may have frozen or replaced what reads it. */
function isAwaited(): boolean {
  const { stackTraceLimit, prepareStackTrace } = Error;
  const at: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = 1000;
    try {
      Error.prepareStackTrace = (_error, sites) => sites.map(site => site.getFunctionName());
      Error.captureStackTrace(at);
      return !Array.isArray(at.stack) || at.stack.includes(runPosternHandler.name);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    }
  } catch {
    return true;
  }
}

/** Whether this runtime has asynchronous stacks. */
async function seesAwaits(): Promise<boolean> {
  return await runPosternHandler(async () => {
    await undefined;
    return isAwaited();
  });
}
