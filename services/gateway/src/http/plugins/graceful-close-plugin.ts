import fp from 'fastify-plugin';

/** While closing, every answer also ends its connection: a kept-alive one would hold the process until it times out. */
export const gracefulClosePlugin = fp(
  async app => {
    let closing = false;
    app.addHook('preClose', async () => {
      closing = true;
    });
    app.addHook('onSend', async (_request, reply) => {
      if (closing) reply.header('connection', 'close');
    });
  },
  { name: 'graceful-close' },
);
