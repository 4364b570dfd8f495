import type { FastifyInstance, FastifyReply } from 'fastify';

/**
 * What ends a request's waiting. Callers that have gone read no answer. A replica that stops answers its waiters as things
 * stand; they come back and find another.
 */
export function createWaitingSignal(app: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  return reply => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    return AbortSignal.any([closing.signal, gone.signal]);
  };
}
