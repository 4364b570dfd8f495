import type { LoopDelay } from './loop-delay.ts';
import type { RequestClass } from './request-class.ts';

/** Why a request is turned away: `in_flight`, too much is under way; `event_loop`, the process is late with everything. */
export type ShedReason = 'in_flight' | 'event_loop';

/**
 * Up to which share of the limits a class is let in. What is least missed goes first, and what people have begun still finds room
 * when new work has filled its share.
 */
const SHARES: Readonly<Record<Exclude<RequestClass, 'health'>, number>> = {
  finish: 1,
  read: 0.85,
  wait: 0.85,
  new: 0.7,
};

export interface AdmissionLimits {
  /** Requests under way at once. */
  readonly requestsInFlight: number;
  /** Lasting delay of the event loop, in ms. */
  readonly eventLoopDelayMs: number;
}

/**
 * Decides which requests this process takes on. By Little's law the number under way is what arrives times how long it takes: one
 * limit on it bounds memory and the time an admitted request waits for its turn, and it falls short by itself when Redis or a
 * provider slows down, whatever the machine can do. The delay of the event loop covers what is not counted as under way: parsing, signatures,
 * turning requests away.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #delay: Pick<LoopDelay, 'ms'>;
  #inFlight = 0;

  constructor(limits: AdmissionLimits, delay: Pick<LoopDelay, 'ms'>) {
    this.#limits = limits;
    this.#delay = delay;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Why a request that comes now is turned away; undefined when it is welcome. */
  refusal(requestClass: RequestClass): ShedReason | undefined {
    if (requestClass === 'health') return undefined;
    const share = SHARES[requestClass];
    // At least one of each class, however small the limit.
    if (this.#inFlight >= Math.max(1, Math.floor(this.#limits.requestsInFlight * share))) return 'in_flight';
    if (this.#delay.ms > this.#limits.eventLoopDelayMs * share) return 'event_loop';
    return undefined;
  }

  /** A request is worked on from now on, until `leave`. */
  enter(): void {
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}
