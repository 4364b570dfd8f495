import fp from 'fastify-plugin';
import type { GatewayDeps } from '../../deps.ts';

/** `livez`: the process answers. `readyz`: it can also do its work, so a load balancer may send it some. */
export const healthPlugin = fp<{ deps: GatewayDeps }>(
  async (app, { deps }) => {
    // Nobody signs in here, so many requests must not become many questions to the store.
    let checking: Promise<void> | undefined;
    const check = () => {
      checking ??= deps.stores.ping().finally(() => {
        checking = undefined;
      });
      return checking;
    };
    app.get('/livez', async () => ({ status: 'live' }));
    app.get('/readyz', async (_request, reply) => {
      try {
        await check();
      } catch (error) {
        deps.logger.warn({ event: 'health.not_ready', error }, 'not ready');
        return reply.code(503).send({ status: 'not_ready' });
      }
      return { status: 'ready' };
    });
  },
  { name: 'health' },
);
