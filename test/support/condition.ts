/** A condition variable. Waiters recheck their condition after each change, never by time. */
export interface Condition {
  /** Signals a change. */
  notify(): void;
  /** Resolves when the check holds, at once if it already does. Runs the check once per change. */
  until(holds: () => boolean): Promise<void>;
}

export function createCondition(): Condition {
  const checks = new Set<() => void>();
  return {
    notify() {
      for (const check of checks) check();
    },
    async until(holds) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const check = () => {
        if (holds()) resolve();
      };
      checks.add(check);
      check();
      await promise;
      checks.delete(check);
    },
  };
}
