import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type RequestContext, withinRequest } from '../../request-context.ts';

/** Everything that a request sets off knows which request it was. */
export const requestContextPlugin = fp(
  async app => {
    const contexts = new WeakMap<FastifyRequest, RequestContext>();
    app.addHook('onRequest', (request, _reply, done) => {
      const context: RequestContext = {
        requestId: request.id,
        // Read only where something is written down.
        get source() {
          return request.ip;
        },
      };
      contexts.set(request, context);
      withinRequest(context, done);
    });
    // Bodies arrive in events of the socket, which know nothing of the request that they belong to.
    app.addHook('preValidation', (request, _reply, done) => {
      const context = contexts.get(request);
      if (context === undefined) done();
      else withinRequest(context, done);
    });
  },
  { name: 'request-context' },
);
