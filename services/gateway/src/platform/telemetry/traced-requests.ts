import { type Context, type Span, SpanStatusCode } from '@opentelemetry/api';
import { parseElicitationId } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SpanKind, type Spans, type TraceHeaders } from './spans.ts';

export interface TracedScope {
  readonly surface: 'api' | 'page' | 'webhook';
  /** Further attributes of a request: no secrets, no personal data. */
  readonly attributesOf?: (request: FastifyRequest) => Readonly<Record<string, string>>;
}

/**
 * Creates a span for every request of a scope, named by the route's pattern. In the API, spans continue the trace of the
 * caller. Therefore this runs after authentication: only registered MCP servers decide whether a trace is recorded. Browsers
 * and webhooks begin new traces.
 */
export function traceRequests(scope: FastifyInstance, spans: Spans, p: TracedScope): void {
  const underWay = new WeakMap<FastifyRequest, { readonly span: Span; readonly context: Context }>();

  scope.addHook('onRequest', (request, reply, done) => {
    const route = request.is404 ? '(none)' : (request.routeOptions.url ?? '(none)');
    const begun = spans.beginIn(p.surface === 'api' ? traceHeadersOf(request) : {}, `${request.method} ${route}`, {
      kind: SpanKind.SERVER,
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'postern.surface': p.surface,
        'postern.request_id': request.id,
        ...elicitationOf(request),
        ...p.attributesOf?.(request),
      },
    });
    underWay.set(request, begun);
    // Also fires when the caller disconnects before the response.
    reply.raw.once('close', () => {
      const { statusCode } = reply;
      begun.span.setAttribute('http.response.status_code', statusCode);
      if (!reply.raw.writableFinished) begun.span.setAttribute('postern.aborted', true);
      if (statusCode >= 500) begun.span.setStatus({ code: SpanStatusCode.ERROR });
      begun.span.end();
    });
    spans.run(begun.context, done);
  });
  // Bodies arrive in events of the socket, outside the context of their request.
  scope.addHook('preValidation', (request, _reply, done) => {
    const begun = underWay.get(request);
    if (begun === undefined) done();
    else spans.run(begun.context, done);
  });
}

function traceHeadersOf({ headers }: FastifyRequest): TraceHeaders {
  const { traceparent, tracestate } = headers;
  return {
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
  };
}

function elicitationOf({ params }: FastifyRequest): Readonly<Record<string, string>> {
  if (typeof params !== 'object' || params === null || !('elicitationId' in params)) return {};
  const elicitationId = parseElicitationId(String(params.elicitationId));
  return elicitationId === undefined ? {} : { 'postern.elicitation_id': elicitationId };
}
