import type { Span } from '@opentelemetry/api';
import { type ElicitationStore, parseElicitationId } from '@postern/elicitation';
import type { Channels, StepCall, StoreCall } from '../call-channels.ts';
import { failed, SpanKind, type Spans } from './spans.ts';

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
