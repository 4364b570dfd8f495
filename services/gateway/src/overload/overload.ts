import { randomInt } from 'node:crypto';
import type { OverloadConfig } from '../config/overload-config.ts';
import { ProblemError } from '../http/problem-error.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { Admission, type ShedReason } from './admission.ts';
import { type LoopDelay, watchLoopDelay } from './loop-delay.ts';
import { createOverloadLog } from './overload-log.ts';
import type { RequestClass } from './request-class.ts';

export type Shed = (requestClass: RequestClass | 'outbound', reason: ShedReason | 'cap') => void;

/** What keeps one process from taking on more than it can do. */
export interface Overload extends Disposable {
  /** Requests that are worked on now. */
  readonly inFlight: number;
  readonly limits: OverloadConfig;
  /** Counts what was turned away. */
  readonly shed: Shed;
  /** A request is worked on from now on, until `leave`. */
  enter(): void;
  leave(): void;
  /** A TCP connection was closed as soon as it came. */
  connectionDropped(): void;
  /** Why a request that comes now is turned away, counted; undefined when it is welcome. */
  refusal(requestClass: RequestClass): ProblemError | undefined;
  /** The refusal of a request that was turned away; counts it. */
  refused(requestClass: RequestClass, reason: ShedReason | 'cap'): ProblemError;
}

/** Spread, because those who are turned away together would else come back together. In ms. */
const comeBackMs = () => 1_000 * randomInt(1, 6);

export function createOverload(p: {
  readonly limits: OverloadConfig;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly delay?: LoopDelay;
}): Overload {
  const delay = p.delay ?? watchLoopDelay();
  const admission = new Admission(p.limits, delay);
  const log = createOverloadLog(p.logger);
  const shed: Shed = (requestClass, reason) => {
    p.metrics?.shed(requestClass, reason);
    log(requestClass, reason);
  };
  const refused: Overload['refused'] = (requestClass, reason) => {
    shed(requestClass, reason);
    return new ProblemError('overloaded', { retryAfterMs: comeBackMs() });
  };
  return {
    get inFlight() {
      return admission.inFlight;
    },
    limits: p.limits,
    shed,
    refused,
    refusal(requestClass) {
      const reason = admission.refusal(requestClass);
      return reason === undefined ? undefined : refused(requestClass, reason);
    },
    enter() {
      admission.enter();
      p.metrics?.inFlight(1);
    },
    leave() {
      admission.leave();
      p.metrics?.inFlight(-1);
    },
    connectionDropped: () => p.metrics?.connectionDropped(),
    [Symbol.dispose]: () => delay[Symbol.dispose](),
  };
}
