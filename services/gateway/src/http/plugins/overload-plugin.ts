import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Overload } from '../../overload/overload.ts';
import { type RequestClass, requestClassOf } from '../../overload/request-class.ts';
import type { RegisteredMcpServer } from '../../registered-mcp-server.ts';
import { requestContext } from '../../request-context.ts';
import type { ProblemError } from '../problem-error.ts';

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
    app.addHook('onRequest', (request, reply, done) => {
      const requestClass = classOf(request);
      const refusal = overload.refusal(requestClass);
      if (refusal !== undefined) return done(refusal);
      const place = overload.place(request.raw.socket);
      if (place === undefined) return done(overload.refused(requestClass, 'connection'));
      const context = requestContext();
      if (context !== undefined) context.place = place;
      reply.raw.once('close', () => place[Symbol.dispose]());
      done();
    });
    app.addHook('preHandler', (request, _reply, done) => {
      const requestClass = classOf(request);
      const place = requestContext()?.place;
      if (place === undefined || !isCounted(requestClass)) return done();
      // Many may have come this far since they were let in.
      const refusal = overload.refusal(requestClass);
      if (refusal !== undefined) return done(refusal);
      place.enter();
      done();
    });
  },
  { name: 'overload' },
);

/**
 * Takes a place out of the share of the MCP server whose credential was verified, before its body is read.
 * @returns the refusal when it has none left
 */
export function takeShare(
  request: FastifyRequest,
  { mcpServerId, config }: RegisteredMcpServer,
  overload: Overload,
): ProblemError | undefined {
  const requestClass = classOf(request);
  if (!isCounted(requestClass)) return undefined;
  const share = config.limits.concurrentRequests ?? overload.shareOf(overload.limits.requestsInFlight);
  return requestContext()?.place?.belongTo(mcpServerId, share) === false
    ? overload.refused(requestClass, 'share')
    : undefined;
}

/** What waits is counted by what it waits for. */
const isCounted = (requestClass: RequestClass) => requestClass !== 'health' && requestClass !== 'wait';

function classOf({ routeOptions, query, is404 }: FastifyRequest): RequestClass {
  const requestClass = (is404 ? undefined : routeOptions.config.requestClass) ?? 'new';
  return requestClass === 'read' && asksToWait(query) ? 'wait' : requestClass;
}

function asksToWait(query: unknown): boolean {
  return typeof query === 'object' && query !== null && 'wait' in query && query.wait !== '0';
}
