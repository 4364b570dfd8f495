import type { Clock } from '@postern/elicitation';

/** A clock that only the test advances. */
export interface FakeClock {
  /** Bound, so it can be passed on its own. */
  readonly now: Clock;
  advance(ms: number): void;
  set(epochMs: number): void;
}

/** @param start epoch milliseconds; a fixed day by default */
export function createFakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let current = start;
  return {
    now: () => current,
    advance(ms) {
      current += ms;
    },
    set(epochMs) {
      current = epochMs;
    },
  };
}
