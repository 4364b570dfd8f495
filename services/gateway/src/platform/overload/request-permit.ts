import { AsyncResource } from 'node:async_hooks';

/** Counts permits by holder, against one limit for all holders together and a share for each holder. */
export class ConcurrencyLimiter<Holder> {
  readonly #held = new Map<Holder, number>();
  readonly #limit: number;
  #all = 0;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  /** Permits that are held now. */
  get all(): number {
    return this.#all;
  }

  /** Acquires a permit. Returns `full` when all permits are held, `share` when the holder has used its share. */
  acquire(holder: Holder, share: number): Disposable | 'full' | 'share' {
    if (this.#all >= this.#limit) return 'full';
    return (this.#held.get(holder) ?? 0) >= share ? 'share' : this.acquireAnyway(holder);
  }

  /** Acquires a permit regardless of the limits. */
  acquireAnyway(holder: Holder): Disposable {
    this.#all += 1;
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#all -= 1;
        const left = (this.#held.get(holder) ?? 1) - 1;
        if (left === 0) this.#held.delete(holder);
        else this.#held.set(holder, left);
      },
    };
  }
}

/** The counters of a `RequestPermit`. */
export interface RequestCounters {
  /** All requests in flight. */
  readonly inFlight: { enter(): void; leave(): void };
  /** API requests per MCP server, from the verified credential to the response. */
  readonly mcpServers: ConcurrencyLimiter<string>;
  /** By MCP server. */
  readonly turns: Pick<Turns, 'take'>;
}

/** Holder of the permits of page requests, which belong to no MCP server. No MCP server can have this id. */
const PAGES = 'pages of users';

/**
 * The permit of one request. While the request waits for an upstream or a slow sender, it counts neither as in flight nor in the
 * share of its MCP server.
 */
export class RequestPermit implements Disposable {
  readonly #counters: RequestCounters;
  #holder: string | undefined;
  #inShare: Disposable | undefined;
  #isEntered = false;
  #isWaiting = false;
  #isDisposed = false;

  constructor(counters: RequestCounters) {
    this.#counters = counters;
  }

  get holder(): string {
    return this.#holder ?? PAGES;
  }

  /** Whether the request waits in `waitFor`. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Counts the request in the share of its MCP server. Returns false when the MCP server has used its share. */
  enterShare(mcpServerId: string, share: number): boolean {
    // The caller has disconnected, and nothing would release it.
    if (this.#isDisposed) return true;
    const acquired = this.#counters.mcpServers.acquire(mcpServerId, share);
    if (typeof acquired === 'string') return false;
    this.#holder = mcpServerId;
    this.#inShare = acquired;
    return true;
  }

  /** Counts the request as in flight until it is disposed of. */
  enter(): void {
    if (this.#isDisposed) return;
    this.#isEntered = true;
    this.#counters.inFlight.enter();
  }

  /**
   * Stops counting the request while `work` waits. It is counted again afterwards and never refused, so that the response of an
   * upstream is used. The limit of requests that wait for an upstream also limits how many can be counted again at the same time.
   */
  async waitFor<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isDisposed || this.#isWaiting) return work();
    this.#leave();
    this.#isWaiting = true;
    try {
      return await work();
    } finally {
      // Many requests may wait for the same response.
      await new Promise<void>(resolve => this.#counters.turns.take(this.holder, resolve));
      this.#isWaiting = false;
      if (!this.#isDisposed) this.#return();
    }
  }

  /** Called when the response is sent or the caller has disconnected. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    if (!this.#isWaiting) this.#leave();
  }

  #leave(): void {
    this.#inShare?.[Symbol.dispose]();
    if (this.#isEntered) this.#counters.inFlight.leave();
  }

  #return(): void {
    if (this.#holder !== undefined) this.#inShare = this.#counters.mcpServers.acquireAnyway(this.#holder);
    if (this.#isEntered) this.#counters.inFlight.enter();
  }
}

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
