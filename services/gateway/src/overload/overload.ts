import { randomInt } from 'node:crypto';
import type { OverloadConfig } from '../config/overload-config.ts';
import { ProblemError } from '../http/problem-error.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { Admission, type ShedReason } from './admission.ts';
import { type LoopDelay, watchLoopDelay } from './loop-delay.ts';
import { createOverloadLog } from './overload-log.ts';
import type { RequestClass } from './request-class.ts';
import { RequestPlace } from './request-place.ts';
import { Shares } from './shares.ts';

/**
 * Beside the reasons of `Admission`. `connection`: too many requests on one TCP connection; `share`: the MCP server has its share;
 * `cap`: the limit of its own; `waiting`, `circuit`: of an upstream.
 */
export type RefusalReason = ShedReason | 'connection' | 'share' | 'cap' | 'waiting' | 'circuit';
export type Shed = (requestClass: RequestClass | 'outbound', reason: RefusalReason) => void;

/** What keeps one process from taking on more than it can do. */
export interface Overload extends Disposable {
  /** Requests that are worked on now. */
  readonly inFlight: number;
  readonly limits: OverloadConfig;
  /** What one MCP server may have of a total, unless its configuration says otherwise. */
  shareOf(total: number): number;
  /** Counts what was turned away. */
  readonly shed: Shed;
  /** Reads that wait, by MCP server. */
  readonly waits: Shares<string>;
  /**
   * Gives a request its place, which whoever asks disposes of when the request is over.
   * @returns undefined when the TCP connection has as many under way as one may have
   */
  place(connection: object): RequestPlace | undefined;
  /** A request is worked on from now on, until `leave`. */
  enter(): void;
  leave(): void;
  /** A TCP connection was closed as soon as it came. */
  connectionDropped(): void;
  /** Why a request that comes now is turned away, counted; undefined when it is welcome. */
  refusal(requestClass: RequestClass): ProblemError | undefined;
  /** The refusal of a request that was turned away; counts it. */
  refused(requestClass: RequestClass, reason: RefusalReason): ProblemError;
}

/** Of `requestsInFlight`, for one TCP connection with pipelined requests. */
const CONNECTION_SHARE = 1 / 8;

/** Spread, because those who are turned away together would else come back together. In ms. */
const comeBackMs = () => 1_000 * randomInt(1, 6);

export function createOverload(p: {
  readonly limits: OverloadConfig;
  /** How many are registered. */
  readonly mcpServers: number;
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
    const code = reason === 'share' ? 'too_many_concurrent_requests' : 'overloaded';
    return new ProblemError(code, { retryAfterMs: comeBackMs() });
  };
  const inFlight = {
    enter() {
      admission.enter();
      p.metrics?.inFlight(1);
    },
    leave() {
      admission.leave();
      p.metrics?.inFlight(-1);
    },
  };
  const countedIn = {
    inFlight,
    mcpServers: new Shares<string>(),
    connections: { places: new Shares<object>(), share: Math.ceil(p.limits.requestsInFlight * CONNECTION_SHARE) },
  };
  return {
    get inFlight() {
      return admission.inFlight;
    },
    limits: p.limits,
    shareOf: total => (p.mcpServers > 1 ? Math.max(1, Math.floor(total / 2)) : total),
    shed,
    refused,
    waits: new Shares(p.limits.waitingReads),
    place: connection => RequestPlace.on(connection, countedIn),
    refusal(requestClass) {
      const reason = admission.refusal(requestClass);
      return reason === undefined ? undefined : refused(requestClass, reason);
    },
    ...inFlight,
    connectionDropped: () => p.metrics?.connectionDropped(),
    [Symbol.dispose]: () => delay[Symbol.dispose](),
  };
}
