import type { Span } from '@opentelemetry/api';
import type { OutboundFetch } from '@postern/authorization';
import { type ElicitationService, parseElicitationId } from '@postern/elicitation';
import type { CommandObserver } from '@postern/store-redis';
import type { RevocationFlow } from './authorization/revocation-flow.ts';
import type { TokenRefresh } from './authorization/token-refresh.ts';
import type { Attempt, ObservedDelivery } from './events/webhooks/deliver.ts';
import type { OutboundTarget } from './platform/metrics/create-metrics.ts';
import { wrapFetch } from './platform/outbound/wrap-fetch.ts';
import { failed, SpanKind, type Spans } from './platform/telemetry/spans.ts';

const ELICITATION = 'postern.elicitation_id';

/** Creates the wrappers that add spans to other parts. */
export function createTraced(spans: Spans) {
  return {
    onCommand: tracedCommands(spans),
    fetch: (fetch: OutboundFetch, target: OutboundTarget) => tracedFetch(fetch, target, spans),
    service: (service: ElicitationService) => tracedService(service, spans),
    tokenRefresh: (flow: TokenRefresh) => tracedRefresh(flow, spans),
    revocationFlow: (flow: RevocationFlow) => tracedRevocation(flow, spans),
    delivery: (p: ObservedDelivery) => tracedDelivery(p, spans),
  };
}

export type Traced = ReturnType<typeof createTraced>;

/** A span per Redis command, below the span that needs it. */
function tracedCommands(spans: Spans): CommandObserver {
  return command => {
    const span = spans.begin(`redis ${command}`, {
      kind: SpanKind.CLIENT,
      attributes: { 'db.system.name': 'redis', 'db.operation.name': command },
    });
    if (span === undefined) return () => {};
    return fault => {
      if (fault !== undefined) failed(span, fault);
      span.end();
    };
  };
}

/**
 * A span per outbound request, with target and host, but without path and query, which may contain codes and tokens. The trace context is
 * not sent to the provider.
 */
function tracedFetch(fetch: OutboundFetch, target: OutboundTarget, spans: Spans): OutboundFetch {
  return wrapFetch(fetch, (url, init) => {
    const method = init?.method ?? 'GET';
    const attributes = {
      'http.request.method': method,
      'server.address': URL.parse(String(url))?.hostname ?? '',
      'postern.target': target,
    };
    return spans.within(`${method} ${target}`, { kind: SpanKind.CLIENT, attributes }, async span => {
      const response = await fetch(url, init);
      span.setAttribute('http.response.status_code', response.status);
      return response;
    });
  });
}

/**
 * A span per call of the domain, with the id of the elicitation. An elicitation stores the span that issued it; spans of later calls,
 * minutes later and in other traces, link to that span.
 */
function tracedService(service: ElicitationService, spans: Spans): ElicitationService {
  const issue: ElicitationService['issue'] = (mcpServer, input) => {
    const traceparent = spans.traceparent();
    return service.issue(mcpServer, traceparent === undefined ? input : { ...input, traceparent });
  };
  const { checkSamePerson, assertSamePerson, ...verbs } = { ...service, issue };
  const traced = Object.fromEntries(
    Object.entries(verbs).map(([verb, call]: [string, (...args: never[]) => Promise<unknown>]) => [
      verb,
      (...args: never[]) => {
        const request = spans.active();
        return spans.within(`elicitation.${verb}`, {}, async span => {
          const answer = await call(...args);
          const about = aboutOf(answer);
          if (about?.elicitationId !== undefined) span.setAttribute(ELICITATION, about.elicitationId);
          if (about?.traceparent !== undefined) spans.link(request ?? span, about.traceparent);
          return answer;
        });
      },
    ]),
  ) as typeof verbs;
  return { ...traced, checkSamePerson, assertSamePerson };
}

interface About {
  readonly elicitationId?: string;
  readonly traceparent?: string;
}

/** Finds the elicitation in the result of a call: the result itself or its member. */
function aboutOf(answer: unknown): About | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  return 'elicitation' in answer ? aboutOf(answer.elicitation) : answer;
}

/**
 * A span per caller. Callers that share a refresh have separate spans. The span of the refresh is a child of the first caller's
 * span.
 */
function tracedRefresh(tokenRefresh: TokenRefresh, spans: Spans): TokenRefresh {
  return {
    ...tokenRefresh,
    refresh: (connection, isRejected) =>
      spans.within('token refresh', { attributes: { 'postern.provider': connection.provider } }, async span => {
        const answer = await tokenRefresh.refresh(connection, isRejected);
        span.setAttribute('postern.result', answer.result);
        return answer;
      }),
  };
}

/** A span per revocation step at the provider, started by a request or by the sweep. */
function tracedRevocation(revocationFlow: RevocationFlow, spans: Spans): RevocationFlow {
  const within = <T>(name: string, work: (span: Span) => Promise<T>) => spans.within(name, {}, work);
  return {
    ...revocationFlow,
    attempt: revocationId => within('revocation', () => revocationFlow.attempt(revocationId)),
    revokeGrant: former => within('revocation', () => revocationFlow.revokeGrant(former)),
    sendRevocation: revocation => within('revocation', () => revocationFlow.sendRevocation(revocation)),
    discardGrant: (...args) => within('revocation', () => revocationFlow.discardGrant(...args)),
  };
}

/**
 * A trace per webhook attempt, linked to the span that issued the elicitation while its record exists. This needs one extra read of
 * the record.
 */
function tracedDelivery(p: ObservedDelivery, spans: Spans): Attempt {
  async function origin(id: string | undefined): Promise<string | undefined> {
    const elicitationId = parseElicitationId(id ?? '');
    return elicitationId === undefined ? undefined : (await p.elicitations.read(elicitationId))?.traceparent;
  }
  return (event, signal) => {
    const { eventId } = event;
    const elicitationId = 'elicitationId' in event ? event.elicitationId : undefined;
    const about = elicitationId === undefined ? {} : { [ELICITATION]: elicitationId };
    const attributes = { ...about, 'postern.event_id': eventId, 'postern.endpoint': p.endpoint };
    return spans.within('webhook', { attributes }, async span => {
      // The webhook is sent even if its span cannot be linked.
      const traceparent = await origin(elicitationId).catch((error: unknown) => {
        failed(span, error);
        return undefined;
      });
      if (traceparent !== undefined) spans.link(span, traceparent);
      const answer = await p.attempt(event, signal);
      if ('failure' in answer) span.setAttribute('postern.result', answer.failure);
      return answer;
    });
  };
}
