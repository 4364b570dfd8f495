import fp from 'fastify-plugin';
import type { Stopping } from '../../stopping.ts';

/**
 * While the process stops, every answer also ends its connection: the next request then finds another replica by a new one, and
 * no kept-alive connection holds the process until it times out.
 */
export const gracefulClosePlugin = fp<{ stopping: Stopping }>(
  async (app, { stopping }) => {
    app.addHook('preClose', async () => stopping.close());
    app.addHook('onSend', (_request, reply, _payload, done) => {
      if (stopping.draining.aborted) reply.header('connection', 'close');
      done();
    });
  },
  { name: 'graceful-close' },
);
