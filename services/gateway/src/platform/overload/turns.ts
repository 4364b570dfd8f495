import { AsyncResource } from 'node:async_hooks';

/** Requests of one holder that begin or continue in one turn of the event loop. A request costs a fraction of a millisecond. */
const PER_TURN = 16;

/**
 * Spreads the requests of each MCP server over turns of the event loop. Hundreds that arrive together, or wait for the same provider, would
 * otherwise run one after the other, with all requests of others behind them.
 */
export class Turns {
  readonly #begun = new Map<string, number>();
  readonly #queued = new Map<string, (() => void)[]>();
  readonly #holders: () => number;
  #isScheduled = false;

  /** @param holders number of holders; a single one takes nothing from others */
  constructor(holders: () => number) {
    this.#holders = holders;
  }

  /** Calls `proceed` now, or in a later turn, in the order of the calls. */
  take(holder: string, proceed: () => void): void {
    const begun = this.#begun.get(holder) ?? 0;
    const queue = this.#queued.get(holder);
    if (queue !== undefined) queue.push(AsyncResource.bind(proceed));
    else if (begun < PER_TURN || this.#holders() <= 1) {
      this.#begun.set(holder, begun + 1);
      this.#schedule();
      proceed();
    } else this.#queued.set(holder, [AsyncResource.bind(proceed)]);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#begun.clear();
    for (const [holder, queue] of this.#queued) {
      const due = queue.splice(0, PER_TURN);
      if (queue.length === 0) this.#queued.delete(holder);
      this.#begun.set(holder, due.length);
      for (const proceed of due) proceed();
    }
    if (this.#begun.size > 0) this.#schedule();
  }
}
