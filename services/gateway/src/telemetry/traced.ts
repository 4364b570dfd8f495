import type { Span } from '@opentelemetry/api';
import type { OutboundFetch } from '@postern/authorization';
import { type ElicitationService, type ElicitationStore, parseElicitationId } from '@postern/elicitation';
import type { CommandObserver } from '@postern/store-redis';
import { aroundFetch } from '../around-fetch.ts';
import type { RevocationFlow } from '../flows/revocation-flow.ts';
import type { TokenRefresh } from '../flows/token-refresh.ts';
import type { OutboundTarget } from '../metrics/create-metrics.ts';
import type { Attempt } from '../webhooks/deliver.ts';
import { failed, SpanKind, type Spans } from './spans.ts';

export interface ObservedDelivery {
  readonly elicitations: Pick<ElicitationStore, 'read'>;
  readonly endpoint: string;
  readonly attempt: Attempt;
}

const ELICITATION = 'postern.elicitation_id';

/** Every part that is watched, with its spans. */
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

/** Commands by name, below whatever needs them. */
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
 * Requests that leave, by whom they are for and the host that was named. Neither path nor query: codes and tokens stand there. The
 * trace itself stays here: it is no business of a provider.
 */
function tracedFetch(fetch: OutboundFetch, target: OutboundTarget, spans: Spans): OutboundFetch {
  return aroundFetch(fetch, (url, init) => {
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
 * Every verb of the domain, with the elicitation that it was about. An elicitation remembers the span in which it was issued;
 * whatever happens to it later, in another trace, links there: a person comes minutes after the MCP server asked.
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

/** What an answer of a verb is about: itself an elicitation, or one with more. */
function aboutOf(answer: unknown): About | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  return 'elicitation' in answer ? aboutOf(answer.elicitation) : answer;
}

/** A caller that shares a refresh with others waits in its own span; what is done is below that of the first. */
function tracedRefresh(tokenRefresh: TokenRefresh, spans: Spans): TokenRefresh {
  return {
    ...tokenRefresh,
    refresh: connection =>
      spans.within('token refresh', { attributes: { 'postern.provider': connection.provider } }, async span => {
        const answer = await tokenRefresh.refresh(connection);
        span.setAttribute('postern.result', answer.result);
        return answer;
      }),
  };
}

/** Each step of ending a grant at its provider, by a request or by the sweeper. */
function tracedRevocation(revocationFlow: RevocationFlow, spans: Spans): RevocationFlow {
  const within = <T>(name: string, work: (span: Span) => Promise<T>) => spans.within(name, {}, work);
  return {
    ...revocationFlow,
    attempt: revocationId => within('revocation', () => revocationFlow.attempt(revocationId)),
    endGrant: former => within('revocation', () => revocationFlow.endGrant(former)),
    tell: revocation => within('revocation', () => revocationFlow.tell(revocation)),
    discard: (...args) => within('revocation', () => revocationFlow.discard(...args)),
  };
}

/**
 * Each attempt to tell a receiver is a trace of its own, which leads to where its elicitation was issued for as long as there is a
 * record of it. That costs a read of it, and only where spans are wanted.
 */
function tracedDelivery(p: ObservedDelivery, spans: Spans): Attempt {
  async function origin(id: string): Promise<string | undefined> {
    const elicitationId = parseElicitationId(id);
    return elicitationId === undefined ? undefined : (await p.elicitations.read(elicitationId))?.traceparent;
  }
  return (event, signal) => {
    const { elicitationId, eventId } = event;
    const attributes = { [ELICITATION]: elicitationId, 'postern.event_id': eventId, 'postern.endpoint': p.endpoint };
    return spans.within('webhook', { attributes }, async span => {
      // A receiver is told whether or not its span can be linked.
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
