import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { parseTraceParent, TraceState } from '@opentelemetry/core';

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
}

/** The headers of W3C Trace Context. */
export interface TraceHeaders {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/**
 * Creates spans for one gateway. Registers nothing globally, so several gateways can run in one process. Asynchronous work keeps its
 * span across every await.
 */
export class Spans {
  readonly #tracer: Tracer;
  readonly #contexts: AsyncLocalStorageContextManager;
  readonly #linked = new WeakMap<Span, string>();

  constructor(tracer: Tracer, contexts: AsyncLocalStorageContextManager) {
    this.#tracer = tracer;
    this.#contexts = contexts;
  }

  /** Returns the active span, if it is recorded. */
  active(): Span | undefined {
    const span = trace.getSpan(this.#contexts.active());
    return span?.isRecording() === true ? span : undefined;
  }

  /** Begins a span in the trace of the caller, or in a new trace. Work runs in the returned context. */
  beginIn(
    headers: TraceHeaders,
    name: string,
    options: SpanOptions,
  ): { readonly span: Span; readonly context: Context } {
    const span = this.#tracer.startSpan(name, options, contextOf(headers));
    return { span, context: trace.setSpan(ROOT_CONTEXT, span) };
  }

  run<T>(context: Context, work: () => T): T {
    return this.#contexts.with(context, work);
  }

  /** Begins a child of the active span. Returns undefined without an active span, so polls and timers begin no traces. */
  begin(name: string, options: SpanOptions): Span | undefined {
    return this.active() === undefined ? undefined : this.#tracer.startSpan(name, options, this.#contexts.active());
  }

  /** Does the work in a new span: a child of the active span, or the root of a new trace. */
  async within<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    const parent = this.#contexts.active();
    const span = this.#tracer.startSpan(name, options, parent);
    try {
      return await this.#contexts.with(trace.setSpan(parent, span), () => work(span));
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** Returns a reference to the active span for later links (W3C Trace Context, version 00). */
  traceparent(): string | undefined {
    const span = this.active()?.spanContext();
    if (span === undefined) return undefined;
    return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, '0')}`;
  }

  /** Links a span to the trace that it continues. Links each trace once, and never a span to its own trace. */
  link(span: Span, traceparent: string): void {
    const context = parseTraceParent(traceparent);
    if (context === null || context.traceId === span.spanContext().traceId) return;
    if (this.#linked.get(span) === traceparent) return;
    this.#linked.set(span, traceparent);
    span.addLink({ context: { ...context, isRemote: true } });
  }
}

/** Records only the name and code of an error, because its message and cause may contain secrets. */
export function failed(span: Span, error: unknown): void {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  span.setAttributes({
    'error.type': error instanceof Error ? error.name : typeof error,
    ...(code === undefined || !/^[A-Za-z0-9_]{1,60}$/.test(code) ? {} : { 'postern.error_code': code }),
  });
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function contextOf({ traceparent, tracestate }: TraceHeaders): Context {
  const context = traceparent === undefined ? null : parseTraceParent(traceparent);
  if (context === null) return ROOT_CONTEXT;
  const isKept = tracestate !== undefined && tracestate.length <= 512;
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...context,
    isRemote: true,
    ...(isKept ? { traceState: new TraceState(tracestate) } : {}),
  });
}

export { SpanKind };
