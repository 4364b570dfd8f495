import fp from 'fastify-plugin';
import type { Metrics } from './create-metrics.ts';

/** Measures every request by the pattern of its route. */
export const metricsPlugin = fp<{ metrics: Metrics | undefined }>(
  async (app, { metrics }) => {
    if (metrics === undefined) return;
    app.addHook('onResponse', (request, reply, done) => {
      const query: unknown = request.query;
      metrics.answered({
        method: request.method,
        route: request.is404 ? undefined : request.routeOptions.url,
        asksToWait: typeof query === 'object' && query !== null && 'wait' in query,
        status: reply.statusCode,
        ms: reply.elapsedTime,
      });
      done();
    });
  },
  { name: 'metrics' },
);
