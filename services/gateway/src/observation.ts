import type { ElicitationService } from '@postern/elicitation';
import type { RevocationFlow } from './authorization/revocation-flow.ts';
import type { TokenRefresh } from './authorization/token-refresh.ts';
import type { Attempt, ObservedDelivery } from './events/webhooks/deliver.ts';
import type { DeliveryAnswer } from './events/webhooks/delivery-policy.ts';
import { type Channels, createChannels } from './platform/call-channels.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import type { Logger } from './platform/logger.ts';
import type { Metrics } from './platform/metrics/create-metrics.ts';
import { withOptionalPackages } from './platform/optional-packages.ts';
import { createOutboundLog } from './platform/outbound/outbound-log.ts';
import { createRedisFaultLog } from './platform/redis/redis-reports.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';

export type Observation = Awaited<ReturnType<typeof createObservation>>;

/**
 * Creates the channels of a gateway, on which its parts publish their calls, and what subscribes to them. The code of metrics and traces
 * is loaded only if they are configured. Failed outbound requests and commands of the store are always logged.
 */
export async function createObservation(config: Pick<GatewayConfig, 'metrics' | 'telemetry'>, logger: Logger) {
  const channels = createChannels(logger);
  const { outbound, store, step, onCommand, fetch } = channels;
  // First, so that the operation of a request is known to have failed before anything else hears of it.
  const outboundLog = createOutboundLog(logger, outbound);
  store.subscribe(createRedisFaultLog(logger));
  const metrics: Metrics | undefined =
    config.metrics === undefined
      ? undefined
      : (await import('./platform/metrics/create-metrics.ts')).createMetrics(channels);
  const telemetry: Telemetry | undefined =
    config.telemetry === undefined ? undefined : (await loadTelemetry()).startTelemetry(config.telemetry, channels);
  return {
    metrics,
    telemetry,
    outboundLog,
    channels,
    onCommand,
    fetch,
    service: (service: ElicitationService) =>
      step.isHeard ? publishedService(service, step, telemetry?.traceparent) : service,
    tokenRefresh: (flow: TokenRefresh): TokenRefresh => ({
      ...flow,
      refresh: (connection, isRejected) =>
        step.trace({ name: 'token refresh', attributes: { 'postern.provider': connection.provider } }, () =>
          flow.refresh(connection, isRejected),
        ),
    }),
    revocationFlow(flow: RevocationFlow): RevocationFlow {
      if (!step.isHeard) return flow;
      const revocation = <T>(work: () => Promise<T>) => step.trace({ name: 'revocation' }, work);
      return {
        ...flow,
        attempt: revocationId => revocation(() => flow.attempt(revocationId)),
        revokeGrant: former => revocation(() => flow.revokeGrant(former)),
        sendRevocation: due => revocation(() => flow.sendRevocation(due)),
        discardGrant: (...args) => revocation(() => flow.discardGrant(...args)),
      };
    },
    delivery({ endpoint, attempt, elicitations }: ObservedDelivery): Attempt {
      const isFailure = (answer: DeliveryAnswer) =>
        !('status' in answer && answer.status >= 200 && answer.status < 300);
      return (event, signal) => {
        const elicitationId = 'elicitationId' in event ? event.elicitationId : undefined;
        const attributes = {
          ...(elicitationId === undefined ? {} : { 'postern.elicitation_id': elicitationId }),
          'postern.event_id': event.eventId,
          'postern.endpoint': endpoint,
        };
        const work = async () => {
          await telemetry?.linkToIssue(elicitations, elicitationId);
          return attempt(event, signal);
        };
        const traced = () => step.trace({ name: 'webhook', attributes }, work);
        return outboundLog.run({ target: 'webhook', name: endpoint }, traced, isFailure);
      };
    },
  };
}

/** Publishes each call of a verb. The elicitation that is issued keeps a reference to the span of its call. */
function publishedService(
  service: ElicitationService,
  step: Channels['step'],
  traceparent: (() => string | undefined) | undefined,
): ElicitationService {
  const { checkSamePerson, assertSamePerson, issue, ...verbs } = service;
  const published = Object.fromEntries(
    Object.entries(verbs).map(([verb, call]: [string, (...args: never[]) => Promise<unknown>]) => {
      const name = `elicitation.${verb}`;
      return [verb, (...args: never[]) => step.trace({ name }, () => call(...args))];
    }),
  ) as typeof verbs;
  return {
    ...published,
    issue: (mcpServer, input) =>
      step.trace({ name: 'elicitation.issue', kind: input.request.kind }, () => {
        const parent = traceparent?.();
        return issue(mcpServer, parent === undefined ? input : { ...input, traceparent: parent });
      }),
    checkSamePerson,
    assertSamePerson,
  };
}

/** @throws StartError if the packages for traces are not installed */
const loadTelemetry = () => withOptionalPackages('Traces', () => import('./platform/telemetry/telemetry.ts'));
