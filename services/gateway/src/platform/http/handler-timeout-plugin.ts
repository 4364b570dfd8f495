import { errorCodes, type FastifyReply } from 'fastify';
import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route holds thousands of requests and limits their duration itself. */
    readonly endsByItself?: true;
  }
}

/**
 * Responds with `unavailable` when any other handler takes longer. Not fastify's `handlerTimeout`: it stops watching once the body of
 * the request is read.
 */
export const handlerTimeoutPlugin = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    /** In order of arrival. All have the same timeout, so the first is due first and one timer is enough. */
    const dueAt = new Map<FastifyReply, number>();
    let timer: NodeJS.Timeout | undefined;

    function endDue(): void {
      timer = undefined;
      for (const [reply, at] of dueAt) {
        const remainingMs = at - performance.now();
        if (remainingMs > 0) {
          timer = setTimeout(endDue, Math.ceil(remainingMs)).unref();
          return;
        }
        dueAt.delete(reply);
        end(reply, new errorCodes.FST_ERR_HANDLER_TIMEOUT(timeoutMs, reply.request.routeOptions.url));
      }
    }

    app.addHook('onRequest', (request, reply, done) => {
      if (request.is404 || request.routeOptions.config.endsByItself !== true) {
        dueAt.set(reply, performance.now() + timeoutMs);
        if (timer === undefined) timer = setTimeout(endDue, timeoutMs).unref();
        reply.raw.once('close', () => dueAt.delete(reply));
      }
      done();
    });
  },
  { name: 'handler-timeout' },
);

function end(reply: FastifyReply, error: Error): void {
  if (reply.sent) return;
  // A response that has begun cannot be replaced.
  if (reply.raw.headersSent) reply.raw.destroy(error);
  else reply.send(error);
}
