import fp from 'fastify-plugin';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Holds its requests and has a bound of its own, so that no timer stands by for each of thousands. */
    readonly endsByItself?: true;
  }
}

/** Every other handler that takes longer is answered for, with `unavailable`. */
export const handlerTimeoutPlugin = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    app.addHook('onRoute', route => {
      if (route.config?.endsByItself !== true) route.handlerTimeout = timeoutMs;
    });
  },
  { name: 'handler-timeout' },
);
