export interface PeriodicOptions {
  /** Pause before each run, in milliseconds. A function is called for each pause. */
  readonly every: number | (() => number);
  /** @param signal aborts when the repetition stops, so that a long run can end early */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  /** Whether the first run begins immediately instead of after a pause. */
  readonly isImmediate?: boolean;
  /** Receives the error of a failed run. Without it, `run` must not reject: the rejection would be unhandled. */
  readonly onError?: (error: unknown) => void;
}

export interface Periodic extends AsyncDisposable {
  /** Begins no further run. Resolves when the run in progress has ended, so a run must not await it. */
  stop(): Promise<void>;
}

/** Repeats `run` until stopped, one run at a time, also after failures. Its timer does not keep the process alive. */
export function periodic({ every, run, isImmediate = false, onError }: PeriodicOptions): Periodic {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  async function runOnce(): Promise<void> {
    try {
      await run(signal);
    } catch (error) {
      if (onError === undefined) throw error;
      onError(error);
    } finally {
      if (!signal.aborted) schedule();
    }
  }

  function begin(): void {
    running = runOnce();
  }

  function schedule(): void {
    timer = setTimeout(begin, typeof every === 'number' ? every : every()).unref();
  }

  async function stop(): Promise<void> {
    stopping.abort();
    clearTimeout(timer);
    await running;
  }

  if (isImmediate) begin();
  else schedule();
  return { stop, [Symbol.asyncDispose]: stop };
}
