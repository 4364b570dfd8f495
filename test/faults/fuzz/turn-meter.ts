/** Measures the processor time of this thread in each turn of the event loop. */
export interface TurnMeter extends Disposable {
  /** Longest turn since the last reset, in milliseconds. */
  readonly longestMs: number;
  reset(): void;
}

/** @param onTurn called after each turn with its processor time in milliseconds */
export function startTurnMeter(onTurn: (ms: number) => void = () => {}): TurnMeter {
  let longestMs = 0;
  let isOver = false;
  let last = process.threadCpuUsage();
  const turn = () => {
    if (isOver) return;
    const now = process.threadCpuUsage();
    const ms = (now.user - last.user + now.system - last.system) / 1000;
    last = now;
    longestMs = Math.max(longestMs, ms);
    onTurn(ms);
    setImmediate(turn);
  };
  setImmediate(turn);
  return {
    get longestMs() {
      return longestMs;
    },
    reset() {
      longestMs = 0;
      last = process.threadCpuUsage();
    },
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}
