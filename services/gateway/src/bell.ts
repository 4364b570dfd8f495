/** Wakes one who waits. A ring that came before the wait ends it at once. */
export interface Bell {
  ring(): void;
  /** True when it rang, false when the time was over or the signal aborted. */
  wait(ms: number): Promise<boolean>;
}

export function createBell(signal: AbortSignal): Bell {
  let hasRung = false;
  let finish: (() => void) | undefined;
  return {
    ring() {
      hasRung = true;
      finish?.();
    },
    async wait(ms) {
      if (!hasRung && !signal.aborted && ms > 0) {
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
      const rang = hasRung;
      hasRung = false;
      return rang;
    },
  };
}
