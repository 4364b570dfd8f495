/** Wakes a waiting loop. A wake-up before the wait ends the wait immediately. */
export interface WakeSignal {
  wake(): void;
  /** Resolves with true after `wake()`, with false after `ms` milliseconds or when the abort signal fires. */
  wait(ms: number): Promise<boolean>;
}

export function createWakeSignal(signal: AbortSignal): WakeSignal {
  let isAwake = false;
  let finish: (() => void) | undefined;
  return {
    wake() {
      isAwake = true;
      finish?.();
    },
    async wait(ms) {
      if (!isAwake && !signal.aborted && ms > 0) {
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, ms);
          timer.unref();
          finish = () => {
            clearTimeout(timer);
            resolve();
          };
          signal.addEventListener('abort', finish, { once: true });
        });
        if (finish !== undefined) signal.removeEventListener('abort', finish);
        finish = undefined;
      }
      const wasAwake = isAwake;
      isAwake = false;
      return wasAwake;
    },
  };
}
