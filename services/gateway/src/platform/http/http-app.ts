import Fastify, {
  errorCodes,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
  type onResponseHookHandler,
  type onSendHookHandler,
  type preHandlerHookHandler,
  type preValidationHookHandler,
  type RouteOptions,
} from 'fastify';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { Overload } from '../overload/admission.ts';
import { type RequestClass, requestClassOf } from '../overload/request-class.ts';
import type { Stopping } from '../stopping.ts';
import { MAX_HEADER_BYTES } from './listener.ts';
import {
  type ErrorReports,
  limitDetail,
  type ProblemError,
  problemFor,
  problemOf,
  reportedProblem,
  sendProblem,
} from './problems.ts';
import { newRequestId, type RequestContext, runInRequest } from './request-context.ts';
import { defaultHeaders, securityHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route holds thousands of requests and limits their duration itself. */
    readonly endsByItself?: true;
    /** Set for every route when it is registered. */
    requestClass?: RequestClass;
    /** Whether a read with this query waits for a change, and has its own limit. No other route waits, whatever its query. */
    readonly isWait?: (query: unknown) => boolean;
  }
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;

export interface HttpAppOptions extends ErrorReports {
  readonly config: Pick<GatewayConfig, 'trustProxy'>;
  readonly limits: {
    /** Maximum of a request body that a route reads, in bytes. */
    readonly bodyBytes: number;
    /** Timeout of a handler, in ms. */
    readonly handlerMs: number;
  };
  /** Of each response to a request that cannot be routed. Hooks run only after routing. */
  readonly unroutedHeaders: Readonly<Record<string, string>>;
  /** Where browsers find this surface: its responses get the security headers of a site. Undefined for an API without a site. */
  readonly siteUrl?: string;
  /** Undefined for surfaces that are never shed. */
  readonly overload?: Overload;
  readonly metrics?: Metrics | undefined;
  readonly stopping: Pick<Stopping, 'draining'>;
  readonly logger: Pick<Logger, 'isLevelEnabled' | 'debug' | 'error'>;
  /** Responds to errors. Default: with a problem document. Parts of a surface may set their own. */
  readonly onError?: ErrorHandler;
  /** Adds the routes of the surface, and the steps that only its requests take: caller, rate limit, body. */
  readonly routes: (app: FastifyInstance) => Promise<void>;
}

/**
 * Creates the application of one surface, without a listener: of the public listener, the console or the admin API. There is no
 * autoloading: a request takes the steps below, in this order. Steps of one phase run as listed, those of `routes` after them.
 */
export async function createHttpApp(p: HttpAppOptions): Promise<FastifyInstance> {
  const { overload, metrics, logger } = p;
  const app = newApp(p);
  if (overload !== undefined) app.addHook('onRoute', classify);
  // Before the body is read.
  app.addHook('onRequest', enterContext);
  app.addHook('onRequest', endsWithin(p.limits.handlerMs));
  if (overload !== undefined) app.addHook('onRequest', admitBy(overload));
  // Routes that read a body do so here.
  app.addHook('preValidation', resumeContext);
  if (overload !== undefined) app.addHook('preHandler', enterBy(overload));
  // The handler.
  app.setErrorHandler(p.onError ?? sendsProblemOf(p));
  app.addHook('onSend', disposePermit);
  app.addHook('onSend', closesConnection(p.stopping));
  if (p.siteUrl !== undefined) app.addHook('onSend', addsSecurityHeaders(p.siteUrl));
  if (metrics !== undefined) app.addHook('onResponse', measuresIn(metrics));
  if (logger.isLevelEnabled('debug')) app.addHook('onResponse', logsTo(logger));
  await p.routes(app);
  await app.ready();
  return app;
}

const noSchemas = () => {
  throw new TypeError('Routes have no JSON schemas: zod validates.');
};

/** Routes that read a body add their own parser. All others, and unknown paths, leave it unread. */
function newApp(p: HttpAppOptions): FastifyInstance {
  const app = Fastify({
    // Fastify's own request log would contain query strings, and with them authorization codes.
    logger: false,
    genReqId: newRequestId,
    trustProxy: p.config.trustProxy.length > 0 ? p.config.trustProxy : false,
    bodyLimit: p.limits.bodyBytes,
    // Every id that fits into the request line reaches its route, which refuses an unknown id.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES, caseSensitive: true, ignoreTrailingSlash: false },
    // Requests that arrive while the process stops are still served; `closesConnection` ends their connections.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) =>
      sendProblem(request, reply.headers(p.unroutedHeaders), problemOf(error) ?? problemFor('internal_error')),
    // Keeps Fastify from loading Ajv and fast-json-stringify: 15 MB.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  return app;
}

const contexts = new WeakMap<FastifyRequest, RequestContext>();

/** Runs each request in its own context. */
const enterContext: onRequestHookHandler = (request, _reply, done) => {
  const context: RequestContext = {
    requestId: request.id,
    // Lazy, because most requests log nothing.
    get source() {
      return request.ip;
    },
  };
  contexts.set(request, context);
  runInRequest(context, done);
};

/** Bodies arrive in events of the socket, outside the context of their request. */
const resumeContext: preValidationHookHandler = (request, _reply, done) => {
  const context = contexts.get(request);
  if (context === undefined) done();
  else runInRequest(context, done);
};

/**
 * Responds with `unavailable` when a handler takes longer, unless its route ends by itself. Not fastify's `handlerTimeout`: it stops
 * watching once the body of the request is read.
 */
function endsWithin(timeoutMs: number): onRequestHookHandler {
  /** In order of arrival. All have the same timeout, so the first is due first and one timer is enough. */
  const dueAt = new Map<FastifyReply, number>();
  let timer: NodeJS.Timeout | undefined;

  function endDue(): void {
    timer = undefined;
    for (const [reply, at] of dueAt) {
      const remainingMs = at - performance.now();
      if (remainingMs > 0) {
        timer = setTimeout(endDue, Math.ceil(remainingMs)).unref();
        return;
      }
      dueAt.delete(reply);
      end(reply, new errorCodes.FST_ERR_HANDLER_TIMEOUT(timeoutMs, reply.request.routeOptions.url));
    }
  }

  return (request, reply, done) => {
    if (request.is404 || request.routeOptions.config.endsByItself !== true) {
      dueAt.set(reply, performance.now() + timeoutMs);
      if (timer === undefined) timer = setTimeout(endDue, timeoutMs).unref();
      reply.raw.once('close', () => dueAt.delete(reply));
    }
    done();
  };
}

function end(reply: FastifyReply, error: Error): void {
  if (reply.sent) return;
  // A response that has begun cannot be replaced.
  if (reply.raw.headersSent) reply.raw.destroy(error);
  else reply.send(error);
}

function classify(route: RouteOptions): void {
  const method = Array.isArray(route.method) ? (route.method[0] ?? 'GET') : route.method;
  route.config = { ...route.config, requestClass: requestClassOf(method, route.url) };
}

/**
 * Sheds requests before any work: before the body is read, a credential is checked or Redis is called. An admitted request counts as
 * in flight from when its body is complete until its response is, or the caller disconnects: slow senders, and callers that do not read
 * their response, use no capacity. What is unread counts in `UnidentifiedBytes`.
 */
function admitBy(overload: Overload): onRequestHookHandler {
  return (request, reply, done) => {
    const refusal = overload.refusal(classOf(request));
    if (refusal !== undefined) return done(refusal);
    const permit = overload.permit();
    const context = contexts.get(request);
    if (context !== undefined) context.permit = permit;
    reply.raw.once('close', () => permit[Symbol.dispose]());
    done();
  };
}

function enterBy(overload: Overload): preHandlerHookHandler {
  return (request, _reply, done) => {
    const requestClass = classOf(request);
    const permit = contexts.get(request)?.permit;
    if (permit === undefined || !isCounted(requestClass)) return done();
    // Many requests may have become in flight since this one was admitted.
    const refusal = overload.refusal(requestClass);
    if (refusal !== undefined) return done(refusal);
    permit.enter();
    done();
  };
}

/** Node closes a pipelined response only once its caller has read all before it. */
const disposePermit: onSendHookHandler = (request, _reply, _payload, done) => {
  contexts.get(request)?.permit?.[Symbol.dispose]();
  done();
};

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
  return contexts.get(request)?.permit?.enterShare(mcpServerId, share) === false
    ? overload.refused(
        requestClass,
        'share',
        limitDetail(`${share} requests at once`, 'mcpServers[].limits.concurrentRequests'),
      )
    : undefined;
}

/** Waiting reads and event streams have their own limits. */
const isCounted = (requestClass: RequestClass) => requestClass !== 'health' && requestClass !== 'wait';

function classOf({ method, routeOptions, query, is404 }: FastifyRequest): RequestClass {
  const { requestClass = 'new', isWait } = is404 ? {} : routeOptions.config;
  // A HEAD request opens no stream.
  if (method === 'HEAD' && requestClass === 'wait') return 'read';
  return isWait?.(query) === true ? 'wait' : requestClass;
}

function sendsProblemOf(reports: ErrorReports): ErrorHandler {
  return (error, request, reply) =>
    sendProblem(request, reply, reportedProblem(reports, request, error) ?? problemFor('internal_error'));
}

/**
 * While the process stops, every response closes its connection. The next request then opens a connection to another replica, and
 * no keep-alive connection holds the process until it times out.
 */
function closesConnection(stopping: Pick<Stopping, 'draining'>): onSendHookHandler {
  return (_request, reply, _payload, done) => {
    if (stopping.draining.aborted) reply.header('connection', 'close');
    done();
  };
}

function addsSecurityHeaders(siteUrl: string): onSendHookHandler {
  const headers = Object.entries(securityHeaders(siteUrl));
  return (_request, reply, _payload, done) => {
    for (const [name, value] of headers) {
      if (!(name in defaultHeaders && reply.hasHeader(name))) reply.header(name, value);
    }
    done();
  };
}

/** Measures every request by the pattern of its route. */
function measuresIn(metrics: Metrics): onResponseHookHandler {
  return (request, reply, done) => {
    const query: unknown = request.query;
    metrics.answered({
      method: request.method,
      route: request.is404 ? undefined : request.routeOptions.url,
      isWait: typeof query === 'object' && query !== null && 'wait' in query,
      status: reply.statusCode,
      ms: reply.elapsedTime,
    });
    done();
  };
}

/** Logs one line per request. Logs the route's pattern, never the URL: URLs carry ids, codes and OAuth states. */
function logsTo(logger: Pick<Logger, 'debug'>): onResponseHookHandler {
  return (request, reply, done) => {
    logger.debug(
      {
        event: 'http.request',
        method: request.method,
        route: request.routeOptions.url ?? '(none)',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        requestId: request.id,
      },
      'request',
    );
    done();
  };
}
