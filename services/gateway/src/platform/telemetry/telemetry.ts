import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ElicitationStore } from '@postern/elicitation';
import type { FastifyInstance } from 'fastify';
import type { Channels } from '../call-channels.ts';
import { packageVersion } from '../package-version.ts';
import { createExportAgent } from './export-agent.ts';
import { Spans } from './spans.ts';
import { linkToIssue, traceCalls } from './trace-calls.ts';
import { type TracedScope, traceRequests } from './traced-requests.ts';

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
