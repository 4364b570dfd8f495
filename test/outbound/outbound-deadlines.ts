import { vi } from 'vitest';

/** Timeouts of requests that fire under the control of the test. */
export interface Deadlines extends Disposable {
  /** Fires pending timeouts a moment later, after the client has received the first bytes of its response. */
  passSoon(): void;
}

const MOMENT_MS = 20;

/** Replaces `AbortSignal.timeout` for timeouts of this length. */
export function takeDeadlines(lengthMs: number): Deadlines {
  const original = AbortSignal.timeout.bind(AbortSignal);
  const begun: AbortController[] = [];
  const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => {
    if (ms !== lengthMs) return original(ms);
    const deadline = new AbortController();
    begun.push(deadline);
    return deadline.signal;
  });
  return {
    passSoon() {
      // Excludes timeouts that start meanwhile: a client may refuse the response at once and continue.
      const due = begun.splice(0);
      setTimeout(() => {
        for (const deadline of due) deadline.abort(new DOMException('timeout', 'TimeoutError'));
      }, MOMENT_MS);
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}
