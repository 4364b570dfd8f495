import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type Span, SpanStatusCode } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type ElicitationStore, parseElicitationId } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Channels, StepCall, StoreCall } from '../call-channels.ts';
import { packageVersion } from '../package-version.ts';
import { createExportAgent } from './export-agent.ts';
import { failed, SpanKind, Spans, type TraceHeaders } from './spans.ts';

export interface Telemetry extends AsyncDisposable {
  /** Returns a reference to the active span. See `Spans`. */
  readonly traceparent: () => string | undefined;
  /** See `linkToIssue`. */
  readonly linkToIssue: (elicitations: Pick<ElicitationStore, 'read'>, id: string | undefined) => Promise<void>;
  /** Creates a span for every request of a scope. */
  readonly traceRequests: (scope: FastifyInstance, p: TracedScope) => void;
}

export interface TelemetryConfig {
  readonly otlpEndpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly sampleRatio: number;
}

/** Timeout of the collector. Spans that it does not accept in time are lost; no request waits for it. */
const EXPORT_MS = 5_000;

/**
 * Sends spans to an OpenTelemetry collector (OTLP over HTTP, JSON). Disposing sends the remaining spans, within the timeout.
 */
export function startTelemetry(config: TelemetryConfig, channels: Channels): Telemetry {
  const contexts = new AsyncLocalStorage<Context>();
  const exporter = new OTLPTraceExporter({
    url: `${config.otlpEndpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
    headers: config.headers,
    timeoutMillis: EXPORT_MS,
    httpAgentOptions: protocol => createExportAgent(protocol, EXPORT_MS),
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': config.serviceName, 'service.version': packageVersion }),
    // The service that began a trace decides whether it is recorded.
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(config.sampleRatio) }),
    spanLimits: { attributeValueLengthLimit: 256, attributeCountLimit: 32, linkCountLimit: 8, eventCountLimit: 0 },
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_MS, scheduledDelayMillis: 1_000 })],
  });
  const spans = new Spans(provider.getTracer('postern', packageVersion), contexts);
  traceCalls(spans, channels);
  return {
    traceparent: () => spans.traceparent(),
    linkToIssue: (elicitations, id) => linkToIssue(spans, elicitations, id),
    traceRequests: (scope, p) => traceRequests(scope, spans, p),
    async [Symbol.asyncDispose]() {
      // An unreachable collector must neither delay nor fail the stop; the exporter has its own timeout.
      await provider.shutdown().catch(() => undefined);
      contexts.disable();
    },
  };
}

const ELICITATION = 'postern.elicitation_id';

/** Creates a span for each call of a gateway, below the span that needs it. */
export function traceCalls(spans: Spans, { outbound, store, step }: Channels): void {
  traceCommands(spans, store);
  // With target and host, but without path and query, which may contain codes and tokens. The trace context is not sent to the provider.
  spans.follow(outbound, {
    of: ({ method, target, hostname }) => ({
      name: `${method} ${target}`,
      kind: SpanKind.CLIENT,
      attributes: { 'http.request.method': method, 'server.address': hostname, 'postern.target': target },
    }),
    end(span, _call, result) {
      if (result !== undefined) span.setAttribute('http.response.status_code', result.status);
    },
  });
  spans.follow(step, { of: ({ name, attributes }) => ({ name, attributes }), end: endOfStep(spans) });
}

/** A timer or poll without a span creates none. */
function traceCommands(spans: Spans, store: Channels['store']): void {
  const begun = new WeakMap<StoreCall, Span>();
  store.subscribe({
    begin(call) {
      const { command } = call;
      const attributes = { 'db.system.name': 'redis', 'db.operation.name': command };
      const span = spans.begin(`redis ${command}`, { kind: SpanKind.CLIENT, attributes });
      if (span !== undefined) begun.set(call, span);
    },
    end(call, { error }) {
      const span = begun.get(call);
      if (span !== undefined && error !== undefined) failed(span, error);
      span?.end();
    },
  });
}

interface About {
  readonly elicitationId?: string;
  readonly traceparent?: string;
  readonly result?: string;
  readonly failure?: string;
}

/** Finds the elicitation in the result of a verb: the result itself or its member. */
function aboutOf(answer: unknown): About | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  return 'elicitation' in answer ? aboutOf(answer.elicitation) : answer;
}

/**
 * Names the elicitation of a verb of the domain, and the result of other steps. An elicitation stores the span that issued it; spans of
 * later calls, minutes later and in other traces, link to that span.
 */
const endOfStep =
  (spans: Spans) =>
  (span: Span, { name }: StepCall, result: unknown, request: Span | undefined): void => {
    const about = aboutOf(result);
    if (name.startsWith('elicitation.')) {
      if (about?.elicitationId !== undefined) span.setAttribute(ELICITATION, about.elicitationId);
      if (about?.traceparent !== undefined) spans.link(request ?? span, about.traceparent);
    }
    if (name === 'token refresh' && about?.result !== undefined) span.setAttribute('postern.result', about.result);
    if (name === 'webhook' && about?.failure !== undefined) span.setAttribute('postern.result', about.failure);
  };

/**
 * Links the current span to the one that issued an elicitation, while its record exists. This needs one extra read of the record.
 * Without it, the span has no link.
 */
export async function linkToIssue(
  spans: Spans,
  elicitations: Pick<ElicitationStore, 'read'>,
  id: string | undefined,
): Promise<void> {
  const [span, elicitationId] = [spans.active(), parseElicitationId(id ?? '')];
  if (span === undefined || elicitationId === undefined) return;
  try {
    const traceparent = (await elicitations.read(elicitationId))?.traceparent;
    if (traceparent !== undefined) spans.link(span, traceparent);
  } catch (error) {
    failed(span, error);
  }
}

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
