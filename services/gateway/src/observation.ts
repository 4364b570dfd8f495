import type { OutboundFetch } from '@postern/authorization';
import type { ElicitationService } from '@postern/elicitation';
import type { CommandObserver } from '@postern/store-redis';
import type { RevocationFlow } from './authorization/revocation-flow.ts';
import type { TokenRefresh } from './authorization/token-refresh.ts';
import type { Attempt, ObservedDelivery } from './events/webhooks/deliver.ts';
import type { DeliveryAnswer } from './events/webhooks/delivery-policy.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import type { Logger } from './platform/logger.ts';
import type { Metrics, OutboundTarget } from './platform/metrics/create-metrics.ts';
import { createOutboundLog, noted } from './platform/outbound/outbound-log.ts';
import { loadTelemetry } from './platform/telemetry/load-telemetry.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';

export type Observation = Awaited<ReturnType<typeof createObservation>>;

/**
 * Creates the wrappers that add metrics, traces and outbound logging to other parts. The code of metrics and traces is loaded only if
 * they are configured; otherwise the wrappers return the part unchanged. Failed outbound requests are always logged.
 */
export async function createObservation(config: Pick<GatewayConfig, 'metrics' | 'telemetry'>, logger: Logger) {
  const metrics: Metrics | undefined =
    config.metrics === undefined ? undefined : (await import('./platform/metrics/create-metrics.ts')).createMetrics();
  const telemetry: Telemetry | undefined =
    config.telemetry === undefined ? undefined : (await loadTelemetry()).startTelemetry(config.telemetry);
  const traced = telemetry === undefined ? undefined : (await import('./traced.ts')).createTraced(telemetry.spans);
  const outboundLog = createOutboundLog(logger);
  return {
    metrics,
    telemetry,
    outboundLog,
    onCommand(always: CommandObserver): CommandObserver {
      const measured = both(metrics?.onCommand, traced?.onCommand);
      return measured === undefined ? always : both(measured, always);
    },
    fetch(fetch: OutboundFetch, target: OutboundTarget): OutboundFetch {
      const seen = noted(fetch);
      const measured = metrics?.outbound(seen, target) ?? seen;
      return traced?.fetch(measured, target) ?? measured;
    },
    service(service: ElicitationService): ElicitationService {
      const measured = metrics?.service(service) ?? service;
      return traced?.service(measured) ?? measured;
    },
    tokenRefresh: (flow: TokenRefresh): TokenRefresh => traced?.tokenRefresh(flow) ?? flow,
    revocationFlow: (flow: RevocationFlow): RevocationFlow => traced?.revocationFlow(flow) ?? flow,
    delivery(p: ObservedDelivery): Attempt {
      const attempt = traced?.delivery(p) ?? p.attempt;
      const isFailure = (answer: DeliveryAnswer) =>
        !('status' in answer && answer.status >= 200 && answer.status < 300);
      return (...args) => outboundLog.run({ target: 'webhook', name: p.endpoint }, () => attempt(...args), isFailure);
    },
  };
}

function both(one: CommandObserver | undefined, other: CommandObserver): CommandObserver;
function both(one: CommandObserver | undefined, other: CommandObserver | undefined): CommandObserver | undefined;
function both(one: CommandObserver | undefined, other: CommandObserver | undefined): CommandObserver | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return name => {
    const [endOne, endOther] = [one(name), other(name)];
    return fault => {
      endOne(fault);
      endOther(fault);
    };
  };
}
