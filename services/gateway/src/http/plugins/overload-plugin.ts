import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Overload } from '../../overload/overload.ts';
import { type RequestClass, requestClassOf } from '../../overload/request-class.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for every route as it is registered. */
    requestClass?: RequestClass;
  }
}

/**
 * Turns requests away before anything is done for them: no body is read, no credential looked at, no Redis asked. Those that are let
 * in count from when their body is there, so that whoever sends slowly takes up no place, until their answer is sent or they
 * have gone.
 */
export const overloadPlugin = fp<{ overload: Overload }>(
  async (app, { overload }) => {
    app.server.maxConnections = overload.limits.connections;
    app.server.on('drop', () => overload.connectionDropped());
    app.addHook('onRoute', route => {
      const method = Array.isArray(route.method) ? (route.method[0] ?? 'GET') : route.method;
      route.config = { ...route.config, requestClass: requestClassOf(method, route.url) };
    });
    app.addHook('onRequest', (request, _reply, done) => done(overload.refusal(classOf(request))));
    app.addHook('preHandler', (request, reply, done) => {
      const requestClass = classOf(request);
      // What waits is counted by what it waits for.
      if (requestClass === 'health' || requestClass === 'wait') return done();
      // Many may have come this far since they were let in.
      const refusal = overload.refusal(requestClass);
      if (refusal !== undefined) return done(refusal);
      overload.enter();
      reply.raw.once('close', () => overload.leave());
      done();
    });
  },
  { name: 'overload' },
);

function classOf({ routeOptions, query, is404 }: FastifyRequest): RequestClass {
  const requestClass = (is404 ? undefined : routeOptions.config.requestClass) ?? 'new';
  return requestClass === 'read' && asksToWait(query) ? 'wait' : requestClass;
}

function asksToWait(query: unknown): boolean {
  return typeof query === 'object' && query !== null && 'wait' in query && query.wait !== '0';
}
