import { ProblemError } from '../http/problems.ts';

const WINDOW_MS = 60_000;

interface Window {
  readonly endsAt: number;
  readonly byAddress: Map<string, number>;
  all: number;
}

/**
 * Limits the attempts of strangers that cost a request to a third party, which refuses them. An attempt counts as refused until it has
 * succeeded, so that concurrent attempts count too. Beyond the limit of the process only addresses without a refusal may try, so that
 * other users can still sign in.
 */
export class FailedAttempts {
  readonly #limits: { readonly perAddress: number; readonly perProcess: number };
  readonly #now: () => number;
  #window: Window = { endsAt: 0, byAddress: new Map(), all: 0 };

  /** @param limits in one minute */
  constructor(limits: { readonly perAddress: number; readonly perProcess: number }, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Counts an attempt. @returns a function to call if it succeeds
   * @throws ProblemError `rate_limited`
   */
  begin(address: string): () => void {
    const now = this.#now();
    if (now >= this.#window.endsAt) this.#window = { endsAt: now + WINDOW_MS, byAddress: new Map(), all: 0 };
    const window = this.#window;
    const { perAddress, perProcess } = this.#limits;
    const before = window.byAddress.get(address) ?? 0;
    if (before >= perAddress || (before > 0 && window.all >= perProcess))
      throw new ProblemError('rate_limited', { retryAfterMs: window.endsAt - now });
    const add = (count: number) => {
      window.byAddress.set(address, (window.byAddress.get(address) ?? 0) + count);
      window.all += count;
    };
    add(1);
    return () => add(-1);
  }
}
