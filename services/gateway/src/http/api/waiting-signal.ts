import type { FastifyReply } from 'fastify';

/**
 * What ends a request's waiting. Callers that have gone read no answer. A replica that stops answers its waiters as things
 * stand; they come back and find another.
 */
export function createWaitingSignal(closing: AbortSignal): (reply: FastifyReply) => AbortSignal {
  // Thousands of listeners on one signal would be a list to search for each that leaves.
  const waiting = new Set<AbortController>();
  closing.addEventListener(
    'abort',
    () => {
      for (const each of waiting) each.abort();
    },
    { once: true },
  );
  return ({ raw }) => {
    const end = new AbortController();
    if (closing.aborted) end.abort();
    waiting.add(end);
    raw.once('close', () => {
      waiting.delete(end);
      if (!raw.writableFinished) end.abort();
    });
    return end.signal;
  };
}
