import { vi } from 'vitest';

/** Deadlines of requests, which pass when the test says so. */
export interface Deadlines extends Disposable {
  /** Those that have begun pass a moment later, by when the client has seen the first bytes of its answer. */
  passSoon(): void;
}

const MOMENT_MS = 20;

/** Takes the place of `AbortSignal.timeout` for deadlines of this length. */
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
      // Not those that begin meanwhile: a client may refuse the answer at once, and go on.
      const due = begun.splice(0);
      setTimeout(() => {
        for (const deadline of due) deadline.abort(new DOMException('timeout', 'TimeoutError'));
      }, MOMENT_MS);
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}
