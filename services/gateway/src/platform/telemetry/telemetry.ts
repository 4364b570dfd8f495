import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { FastifyInstance } from 'fastify';
import type { GatewayConfig } from '../config/config-schema.ts';
import { packageVersion } from '../package-version.ts';
import { createExportAgent } from './export-agent.ts';
import { Spans } from './spans.ts';
import { type TracedScope, traceRequests } from './traced-requests.ts';

export interface Telemetry extends AsyncDisposable {
  readonly spans: Spans;
  /** Creates a span for every request of a scope. */
  readonly traceRequests: (scope: FastifyInstance, p: TracedScope) => void;
}

/** Timeout of the collector. Spans that it does not accept in time are lost; no request waits for it. */
const EXPORT_MS = 5_000;

/**
 * Sends spans to an OpenTelemetry collector (OTLP over HTTP, JSON). Disposing sends the remaining spans, within the timeout.
 */
export function startTelemetry(config: NonNullable<GatewayConfig['telemetry']>): Telemetry {
  const contexts = new AsyncLocalStorageContextManager().enable();
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
  return {
    spans,
    traceRequests: (scope, p) => traceRequests(scope, spans, p),
    async [Symbol.asyncDispose]() {
      // An unreachable collector must neither delay nor fail the stop; the exporter has its own timeout.
      await provider.shutdown().catch(() => undefined);
      contexts.disable();
    },
  };
}
