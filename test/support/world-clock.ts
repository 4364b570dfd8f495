/** The clock of a world's gateways and its Stripe. Processes and providers keep the machine's time. */
export interface WorldClock {
  readonly now: () => number;
  /** Milliseconds that this clock is ahead of the machine's. */
  ahead: number;
  pass(seconds: number): void;
  /** Advances the clock after the gateways have read it this often: a moment in the middle of a request. */
  passAfter(reads: number, seconds: number): void;
  /** Runs `action` with this clock ahead by so many milliseconds. */
  during<T>(ahead: number, action: () => Promise<T>): Promise<T>;
  /** Resets to the machine's time. */
  backToNow(): void;
}

export function createWorldClock(): WorldClock {
  let reads = Number.POSITIVE_INFINITY;
  let then = 0;
  const clock: WorldClock = {
    ahead: 0,
    now() {
      reads -= 1;
      if (reads < 0) {
        clock.ahead += then;
        reads = Number.POSITIVE_INFINITY;
      }
      return Date.now() + clock.ahead;
    },
    pass(seconds) {
      clock.ahead += seconds * 1000;
    },
    passAfter(count, seconds) {
      reads = count;
      then = seconds * 1000;
    },
    async during(ahead, action) {
      clock.ahead = ahead;
      try {
        return await action();
      } finally {
        clock.ahead = 0;
      }
    },
    backToNow() {
      clock.ahead = 0;
      reads = Number.POSITIVE_INFINITY;
    },
  };
  return clock;
}
