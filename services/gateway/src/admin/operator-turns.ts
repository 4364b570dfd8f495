import type { ServerResponse } from 'node:http';
import { ProblemError } from '../platform/http/problems.ts';
import { createSlots, type Slots } from '../platform/overload/slots.ts';

/**
 * Requests of one operator, or of one credential of the admin API, that the gateway works on at the same time. One of them reads up to some
 * thousand records, over the connection to Redis that users and MCP servers need too.
 */
const AT_ONCE = 2;
/** Requests of one of them that wait. A person with many tabs has fewer. */
const WAITING = 32;
const RETRY_MS = 5_000;
/** Timeout of a handler for operators, in the console and in the admin API. */
export const OPERATOR_HANDLER_MS = 60_000;

/**
 * Limits the work for each operator, so that no operator, and no thief of a cookie or token, can stop the gateway or the others.
 * @param retired aborts when another configuration is in force: it decides anew about requests that wait, whose operator may have lost
 *   the role
 */
export function createOperatorTurns(retired: AbortSignal) {
  /** One entry for each operator with a role, and for each credential, that has been here. */
  const byOperator = new Map<string, Slots>();

  function slotsOf(operator: string): Slots {
    const found =
      byOperator.get(operator) ??
      createSlots({
        count: AT_ONCE,
        queued: WAITING,
        refuse: () => new ProblemError('rate_limited', { retryAfterMs: RETRY_MS }),
      });
    byOperator.set(operator, found);
    return found;
  }

  return {
    /**
     * Works when it is the operator's turn. The turn lasts as long as the work, even if the browser has left.
     * @throws ProblemError `rate_limited`
     */
    async take<T>(
      operator: string,
      response: Pick<ServerResponse, 'once' | 'destroyed'>,
      work: () => T,
    ): Promise<Awaited<T>> {
      const left = new AbortController();
      response.once('close', () => left.abort());
      if (response.destroyed) left.abort();
      using _ = await slotsOf(operator).acquire(left.signal);
      if (retired.aborted) throw new ProblemError('rate_limited', { retryAfterMs: RETRY_MS });
      return await work();
    },
  };
}
