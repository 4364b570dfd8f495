import fp from 'fastify-plugin';
import type { GatewayDeps } from '../../deps.ts';
import { createReadiness, notReadyCode } from '../readiness.ts';

/** `livez`: the process answers. `readyz`: it can also do its work, so a load balancer may send it some. */
export const healthPlugin = fp<{ deps: GatewayDeps }>(
  async (app, { deps }) => {
    const check = createReadiness(deps);
    app.get('/livez', async () => ({ status: 'live' }));
    app.get('/readyz', async (_request, reply) => {
      try {
        return { status: 'ready', ...(await check()) };
      } catch (error) {
        deps.logger.warn({ event: 'health.not_ready', error }, 'not ready');
        return reply.code(503).send({ status: 'not_ready', code: notReadyCode(error) });
      }
    });
  },
  { name: 'health' },
);
