import type { Clock } from '@postern/elicitation';

/** A clock that moves only when told to. */
export interface FakeClock {
  /** Bound, so that it can be handed over as it is. */
  readonly now: Clock;
  advance(ms: number): void;
  set(epochMs: number): void;
}

/** @param start epoch milliseconds; some fixed day by default. */
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
