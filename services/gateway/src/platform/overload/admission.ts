import { AsyncResource } from 'node:async_hooks';
import { randomInt } from 'node:crypto';
import type { OverloadConfig } from '../config/overload-config.ts';
import { ProblemError } from '../http/problems.ts';
import type { Permit } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { RequestClass } from './request-class.ts';

/** Why `Admission` sheds a request: `in_flight`: too many requests in flight; `event_loop`: the event loop is delayed. */
export type ShedReason = 'in_flight' | 'event_loop';

/**
 * Share of the limits up to which a class is admitted. The least important class is shed first, and requests of users who have begun
 * something still fit in when new work has filled its share.
 */
const SHARES: Readonly<Record<Exclude<RequestClass, 'health'>, number>> = {
  finish: 1,
  read: 0.85,
  wait: 0.85,
  new: 0.7,
};

/**
 * Decides which requests this process admits. By Little's law the number in flight is the arrival rate times the duration: one limit
 * on it bounds the memory and the queueing time of an admitted request. It automatically admits fewer requests when Redis or a provider
 * slows down, on any machine. The event loop delay covers work that does not count as in flight: parsing, signatures, shedding.
 * @internal
 */
export class Admission {
  readonly #limits: Pick<OverloadConfig, 'requestsInFlight' | 'eventLoopDelayMs'>;
  readonly #delay: Pick<LoopDelay, 'ms'>;
  #inFlight = 0;

  constructor(limits: Pick<OverloadConfig, 'requestsInFlight' | 'eventLoopDelayMs'>, delay: Pick<LoopDelay, 'ms'>) {
    this.#limits = limits;
    this.#delay = delay;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why a request would be shed now; undefined when it is admitted. */
  refusal(requestClass: RequestClass): ShedReason | undefined {
    if (requestClass === 'health') return undefined;
    const share = SHARES[requestClass];
    // At least one request of each class, however small the limit.
    if (this.#inFlight >= Math.max(1, Math.floor(this.#limits.requestsInFlight * share))) return 'in_flight';
    if (this.#delay.ms > this.#limits.eventLoopDelayMs * share) return 'event_loop';
    return undefined;
  }

  enter(): void {
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}

/**
 * All reasons to refuse a request. `connection`: see `UnidentifiedBytes`; `share`: the MCP server has used its share;
 * `cap`: another limit is reached; `waiting`, `circuit`: too many requests wait for an upstream, or its circuit is open.
 */
export type RefusalReason = ShedReason | 'connection' | 'share' | 'cap' | 'waiting' | 'circuit';

/** Overload protection of one process. */
export interface Overload extends Disposable {
  /** Requests in flight. */
  readonly inFlight: number;
  readonly limits: OverloadConfig;
  /** The share of one MCP server in a limit, unless its configuration sets another. */
  shareOf(limit: number): number;
  /** By MCP server. */
  readonly turns: Turns;
  /** Maximum requests on one TCP connection. */
  readonly pipelined: number;
  /** Waiting reads by MCP server. */
  readonly waits: ConcurrencyLimiter<string>;
  /** Creates the permit of a request, which the caller disposes of. */
  permit(): RequestPermit;
  /** Why a request would be shed now, counted; undefined when it is admitted. */
  refusal(requestClass: RequestClass): ProblemError | undefined;
  /** Counts a refusal and returns its error. */
  refused(requestClass: RequestClass, reason: RefusalReason, detail?: string): ProblemError;
  /** Counts a refusal. */
  shed(requestClass: RequestClass | 'outbound', reason: RefusalReason): void;
  /** Counts a TCP connection that was closed because there are too many. */
  connectionDropped(): void;
}

/** Share of `requestsInFlight` for one TCP connection with pipelined requests. */
const CONNECTION_SHARE = 1 / 8;

/** Random, so that refused callers do not retry in lockstep. In ms. */
const retryAfterMs = () => 1_000 * randomInt(1, 6);

export function createOverload(p: {
  readonly limits: OverloadConfig;
  /** Returns the number of registered MCP servers. */
  readonly mcpServers: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly delay?: LoopDelay;
}): Overload {
  const delay = p.delay ?? watchLoopDelay();
  const admission = new Admission(p.limits, delay);
  const log = createShedLog(p.logger);
  const shed: Overload['shed'] = (requestClass, reason) => {
    p.metrics?.shed(requestClass, reason);
    log(`${requestClass}.${reason}`);
  };
  const refused: Overload['refused'] = (requestClass, reason, detail) => {
    shed(requestClass, reason);
    const code = reason === 'share' ? 'too_many_concurrent_requests' : 'overloaded';
    return new ProblemError(code, { retryAfterMs: retryAfterMs(), detail });
  };
  const counters = {
    inFlight: {
      enter() {
        admission.enter();
        p.metrics?.inFlight(1);
      },
      leave() {
        admission.leave();
        p.metrics?.inFlight(-1);
      },
    },
    mcpServers: new ConcurrencyLimiter<string>(),
    turns: new Turns(p.mcpServers),
  };
  return {
    get inFlight() {
      return admission.inFlight;
    },
    limits: p.limits,
    shareOf: limit => (p.mcpServers() > 1 ? Math.max(1, Math.floor(limit / 2)) : limit),
    waits: new ConcurrencyLimiter(p.limits.waitingReads),
    turns: counters.turns,
    pipelined: Math.ceil(p.limits.requestsInFlight * CONNECTION_SHARE),
    permit: () => new RequestPermit(counters),
    refusal(requestClass) {
      const reason = admission.refusal(requestClass);
      return reason === undefined ? undefined : refused(requestClass, reason);
    },
    refused,
    shed,
    connectionDropped: () => p.metrics?.connectionDropped(),
    [Symbol.dispose]: () => delay[Symbol.dispose](),
  };
}

/** Minimum time between two log lines, in ms. */
const LOG_PAUSE_MS = 10_000;

/** Logs how many requests are shed, without a line for each of them. */
function createShedLog(logger: Logger): (what: string) => void {
  const counts = new Map<string, number>();
  let nextAt = Number.NEGATIVE_INFINITY;
  return what => {
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + LOG_PAUSE_MS;
    logger.warn({ event: 'overload.shed', shed: Object.fromEntries(counts) }, 'shedding load');
    counts.clear();
  };
}

/** Interval of the samples, in ms. */
const SAMPLE_MS = 50;
/** Number of samples that must all show the delay. */
const SAMPLES = 3;

export interface LoopDelay extends Disposable {
  /** Current delay of the event loop, in ms. */
  readonly ms: number;
}

export interface LoopDelayOptions {
  /** A monotonic clock in ms. */
  readonly now?: () => number;
  readonly setTimer?: (callback: () => void, ms: number) => Disposable;
}

/**
 * Measures the queueing delay of the event loop: the time from when a timer is due to when it runs. Reports the minimum of the last
 * samples, as CoDel does: a single pause, for example of the garbage collector, is not a queue, and the delay ends with the queue.
 * @internal
 */
export function watchLoopDelay({
  now = () => performance.now(),
  setTimer = unrefTimer,
}: LoopDelayOptions = {}): LoopDelay {
  const samples = new Array<number>(SAMPLES).fill(0);
  let at = 0;
  let minimum = 0;
  let timer: Disposable;
  const watch = () => {
    const due = now() + SAMPLE_MS;
    timer = setTimer(() => {
      samples[at] = Math.max(0, now() - due);
      at = (at + 1) % SAMPLES;
      minimum = Math.min(...samples);
      watch();
    }, SAMPLE_MS);
  };
  watch();
  return {
    get ms() {
      return minimum;
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

function unrefTimer(callback: () => void, ms: number): Disposable {
  const timer = setTimeout(callback, ms).unref();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

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
export class RequestPermit implements Permit {
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
