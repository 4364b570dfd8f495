import { retryAfterMsOf, type StreamedAnswer } from '../gateway-transport.ts';

/** Before the next attempt to open the stream. */
export interface Pause {
  readonly pauseMs: number;
  /** There is no hope that it goes on soon. */
  readonly isOver: boolean;
}

const FIRST_MS = 250;
const LONGEST_MS = 60_000;
/** A gateway without events, or one that does not let us have them, is asked again now and then. */
const UNAVAILABLE_MS = 60_000;
const LONGEST_UNAVAILABLE_MS = 15 * 60_000;

/** The gateway, or what stands before it, did not answer with a stream. */
export class StreamRefusal extends Error {
  override readonly name = 'StreamRefusal';
  readonly status: number;
  /** Milliseconds, as the answer asks. */
  readonly retryAfterMs: number | undefined;

  constructor(answer: Pick<StreamedAnswer, 'status' | 'header'>) {
    super(`no stream of events: ${answer.status}`);
    this.status = answer.status;
    this.retryAfterMs = retryAfterMsOf(answer);
  }

  /** Too late to go on from there, or no position at all. */
  get isAboutPosition(): boolean {
    return this.status === 410 || this.status === 400;
  }
}

/** A stream that ended says when to come back. Whatever it says, the gateway is neither hammered nor forgotten. */
export function afterEnd(retryMs: number): Pause {
  return { pauseMs: Math.min(Math.max(retryMs, FIRST_MS), LONGEST_UNAVAILABLE_MS), isOver: false };
}

/** Full jitter keeps replicas from returning in step. @param failures in a row, this one included */
export function afterFailure(failures: number, random: () => number): Pause {
  return { pauseMs: random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** failures), isOver: failures > 3 };
}

export function afterRefusal(refusal: StreamRefusal, failures: number, random: () => number): Pause {
  const { status, retryAfterMs } = refusal;
  const isBusy = status === 429 || (status >= 500 && status !== 501);
  if (!isBusy) return unavailable(failures, random);
  const { pauseMs, isOver } = afterFailure(failures, random);
  return { pauseMs: Math.min(retryAfterMs ?? 0, LONGEST_UNAVAILABLE_MS) + pauseMs, isOver };
}

/** A long pause, spread over its second half. */
export function unavailable(failures: number, random: () => number): Pause {
  const longest = Math.min(LONGEST_UNAVAILABLE_MS, UNAVAILABLE_MS * 2 ** (failures - 1));
  return { pauseMs: longest * (0.5 + random() / 2), isOver: true };
}

/** Resolves when the time is over, or with the signal. Keeps no process alive. */
export function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms).unref();
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
