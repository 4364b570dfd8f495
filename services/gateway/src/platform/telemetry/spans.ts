import type { AsyncLocalStorage } from 'node:async_hooks';
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
import { parseTraceParent, TraceState } from '@opentelemetry/core';
import type { CallChannel } from '../call-channels.ts';

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes | undefined;
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
  readonly #contexts: AsyncLocalStorage<Context>;
  readonly #linked = new WeakMap<Span, string>();

  constructor(tracer: Tracer, contexts: AsyncLocalStorage<Context>) {
    this.#tracer = tracer;
    this.#contexts = contexts;
  }

  /** Returns the active span, if it is recorded. */
  active(): Span | undefined {
    const span = trace.getSpan(this.#active());
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
    return this.#contexts.run(context, work);
  }

  /** Begins a child of the active span. Returns undefined without an active span, so polls and timers begin no traces. */
  begin(name: string, options: SpanOptions): Span | undefined {
    return this.active() === undefined ? undefined : this.#tracer.startSpan(name, options, this.#active());
  }

  /**
   * Does the work of each call of a channel in a span: a child of the active span, or the root of a new trace.
   * @param p.end called before the span ends, with the result of the call; `parent` was active when it began
   */
  follow<Call extends object, Result>(
    channel: CallChannel<Call, Result>,
    p: {
      readonly of: (call: Call) => SpanOptions & { readonly name: string };
      readonly end: (span: Span, call: Call, result: Result | undefined, parent: Span | undefined) => void;
    },
  ): void {
    const begun = new WeakMap<Call, { readonly span: Span; readonly parent: Span | undefined }>();
    channel.bindStore(this.#contexts, call => {
      const { name, ...options } = p.of(call);
      const context = this.#active();
      const span = this.#tracer.startSpan(name, options, context);
      begun.set(call, { span, parent: this.active() });
      return trace.setSpan(context, span);
    });
    channel.subscribe({
      end(call, { result, error }) {
        const { span, parent } = begun.get(call) ?? {};
        if (span === undefined) return;
        try {
          if (error === undefined) p.end(span, call, result, parent);
          else failed(span, error);
        } finally {
          span.end();
        }
      },
    });
  }

  #active(): Context {
    return this.#contexts.getStore() ?? ROOT_CONTEXT;
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
