import fp from 'fastify-plugin';
import type { Logger } from '../../logger.ts';

/** One line per request. The route's pattern, never the URL: URLs carry ids, codes and states. */
export const requestLogPlugin = fp<{ logger: Logger }>(
  async (app, { logger }) => {
    if (!logger.isLevelEnabled('debug')) return;
    app.addHook('onResponse', (request, reply, done) => {
      logger.debug(
        {
          event: 'http.request',
          method: request.method,
          route: request.routeOptions.url ?? '(none)',
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime),
          requestId: request.id,
        },
        'request',
      );
      done();
    });
  },
  { name: 'request-log' },
);
