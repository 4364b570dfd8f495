import type { OutboundFetch } from '@postern/authorization';
import type { ElicitationService } from '@postern/elicitation';
import type { CommandObserver } from '@postern/store-redis';
import type { DeliveryAnswer } from '@postern/webhooks';
import type { GatewayConfig } from './config/config-schema.ts';
import type { RevocationFlow } from './flows/revocation-flow.ts';
import type { TokenRefresh } from './flows/token-refresh.ts';
import type { Logger } from './logger.ts';
import type { Metrics, OutboundTarget } from './metrics/create-metrics.ts';
import { createOutboundLog, noted } from './outbound/outbound-log.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import type { ObservedDelivery } from './telemetry/traced.ts';
import type { Attempt } from './webhooks/deliver.ts';

export type Observation = Awaited<ReturnType<typeof createObservation>>;

/**
 * Puts what watches around what works, for the composition root. Metrics and traces that are not configured are not even loaded, and
 * add nothing: the parts come back as they are. Failures of requests that leave are always logged.
 */
export async function createObservation(config: Pick<GatewayConfig, 'metrics' | 'telemetry'>, logger: Logger) {
  const metrics: Metrics | undefined =
    config.metrics === undefined ? undefined : (await import('./metrics/create-metrics.ts')).createMetrics();
  const telemetry: Telemetry | undefined =
    config.telemetry === undefined
      ? undefined
      : (await import('./telemetry/telemetry.ts')).startTelemetry(config.telemetry);
  const traced = telemetry?.traced;
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
    const [oneIsOver, otherIsOver] = [one(name), other(name)];
    return fault => {
      oneIsOver(fault);
      otherIsOver(fault);
    };
  };
}
