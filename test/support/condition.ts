/** A condition variable: whoever waits looks again whenever something has changed, and never by the clock. */
export interface Condition {
  /** Says that something has changed. */
  notify(): void;
  /** Resolves when this holds: at once where it does already. Looks once for each change. */
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
