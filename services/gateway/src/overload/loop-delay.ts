/** How often the delay is looked at, in ms. */
const EVERY_MS = 50;
/** Only what all of these samples show is a delay. */
const SAMPLES = 3;

export interface LoopDelay extends Disposable {
  /** How late the process is with everything, in ms, for as long as it has been late. */
  readonly ms: number;
}

export interface LoopDelayOptions {
  /** A clock in ms that never goes back. */
  readonly now?: () => number;
  readonly setTimer?: (callback: () => void, ms: number) => Disposable;
}

/**
 * Measures the queue in front of everything: the time between when a timer is due and when it runs. What counts is the smallest of
 * the last samples, as in CoDel: a single pause, of the garbage collector for one, is no queue, and a queue that is gone counts no
 * longer.
 */
export function watchLoopDelay({
  now = () => performance.now(),
  setTimer = unrefTimer,
}: LoopDelayOptions = {}): LoopDelay {
  const samples = new Array<number>(SAMPLES).fill(0);
  let at = 0;
  let smallest = 0;
  let timer: Disposable;
  const watch = () => {
    const due = now() + EVERY_MS;
    timer = setTimer(() => {
      samples[at] = Math.max(0, now() - due);
      at = (at + 1) % SAMPLES;
      smallest = Math.min(...samples);
      watch();
    }, EVERY_MS);
  };
  watch();
  return {
    get ms() {
      return smallest;
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

function unrefTimer(callback: () => void, ms: number): Disposable {
  const timer = setTimeout(callback, ms).unref();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
