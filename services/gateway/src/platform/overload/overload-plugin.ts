import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { limitDetail, type ProblemError } from '../http/problems.ts';
import { requestContext } from '../http/request-context.ts';
import type { Overload } from './admission.ts';
import { type RequestClass, requestClassOf } from './request-class.ts';
import type { RequestPermit } from './request-permit.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for every route when it is registered. */
    requestClass?: RequestClass;
    /** Whether a read with this query waits for a change, and has its own limit. No other route waits, whatever its query. */
    readonly isWait?: (query: unknown) => boolean;
  }
}

/**
 * Sheds requests before any work: before the body is read, a credential is checked or Redis is called. An admitted request counts as
 * in flight from when its body is complete until its response is, or the caller disconnects: slow senders, and callers that do not read
 * their response, use no capacity. What is unread counts in `UnidentifiedBytes`.
 */
export const overloadPlugin = fp<{ overload: Overload }>(
  async (app, { overload }) => {
    const permits = new WeakMap<FastifyRequest, RequestPermit>();
    app.addHook('onRoute', route => {
      const method = Array.isArray(route.method) ? (route.method[0] ?? 'GET') : route.method;
      route.config = { ...route.config, requestClass: requestClassOf(method, route.url) };
    });
    app.addHook('onRequest', (request, reply, done) => {
      const requestClass = classOf(request);
      const refusal = overload.refusal(requestClass);
      if (refusal !== undefined) return done(refusal);
      const permit = overload.permit();
      const context = requestContext();
      if (context !== undefined) context.permit = permit;
      permits.set(request, permit);
      reply.raw.once('close', () => permit[Symbol.dispose]());
      done();
    });
    app.addHook('preHandler', (request, _reply, done) => {
      const requestClass = classOf(request);
      const permit = permits.get(request);
      if (permit === undefined || !isCounted(requestClass)) return done();
      // Many requests may have become in flight since this one was admitted.
      const refusal = overload.refusal(requestClass);
      if (refusal !== undefined) return done(refusal);
      permit.enter();
      done();
    });
    // Node closes a pipelined response only once its caller has read all before it.
    app.addHook('onSend', (request, _reply, _payload, done) => {
      permits.get(request)?.[Symbol.dispose]();
      done();
    });
  },
  { name: 'overload' },
);

/** The part of a registered MCP server that its share depends on. */
interface Caller {
  readonly mcpServerId: string;
  readonly config: { readonly limits: { readonly concurrentRequests?: number | undefined } };
}

/**
 * Counts the request in the share of the authenticated MCP server, before its body is read.
 * @returns the refusal when the MCP server has used its share
 */
export function enterShare(
  request: FastifyRequest,
  { mcpServerId, config }: Caller,
  overload: Overload,
): ProblemError | undefined {
  const requestClass = classOf(request);
  if (!isCounted(requestClass)) return undefined;
  const share = config.limits.concurrentRequests ?? overload.shareOf(overload.limits.requestsInFlight);
  return requestContext()?.permit?.enterShare(mcpServerId, share) === false
    ? overload.refused(
        requestClass,
        'share',
        limitDetail(`${share} requests at once`, 'mcpServers[].limits.concurrentRequests'),
      )
    : undefined;
}

/** Waiting reads and event streams have their own limits. */
const isCounted = (requestClass: RequestClass) => requestClass !== 'health' && requestClass !== 'wait';

function classOf({ routeOptions, query, is404 }: FastifyRequest): RequestClass {
  const { requestClass = 'new', isWait } = is404 ? {} : routeOptions.config;
  return isWait?.(query) === true ? 'wait' : requestClass;
}
