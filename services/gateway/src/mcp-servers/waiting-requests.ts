import type { FastifyReply } from 'fastify';
import type { Caller } from './registered-mcp-server.ts';

/** Signals of the requests that wait: for the end of an elicitation, or for a token that another replica refreshes. */
export interface WaitingRequests {
  /**
   * Returns a signal that aborts when the caller disconnects, the replica stops, a reload replaces the configuration, or the API key is
   * revoked. A waiting read then responds with the current status, so that its caller can retry.
   */
  signalOf(reply: FastifyReply, caller: Caller): AbortSignal;
  /** Aborts the requests whose API keys were revoked. */
  endWithdrawn(): void;
}

/** @param ending aborts when no request may wait any longer */
export function createWaitingRequests(ending: AbortSignal, isCurrent: (caller: Caller) => boolean): WaitingRequests {
  // One listener for all waiting reads: removing one of thousands of listeners from a signal is a linear search.
  const waiting = new Map<AbortController, Caller>();
  ending.addEventListener(
    'abort',
    () => {
      for (const each of waiting.keys()) each.abort();
    },
    { once: true },
  );
  return {
    signalOf({ raw }, caller) {
      const end = new AbortController();
      if (ending.aborted || !isCurrent(caller)) end.abort();
      waiting.set(end, caller);
      raw.once('close', () => {
        waiting.delete(end);
        if (!raw.writableFinished) end.abort();
      });
      return end.signal;
    },
    endWithdrawn() {
      for (const [end, caller] of waiting) if (!isCurrent(caller)) end.abort();
    },
  };
}
