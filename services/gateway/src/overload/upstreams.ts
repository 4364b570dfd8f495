import type { OutboundFetch } from '@postern/authorization';
import type { Logger } from '../logger.ts';
import type { Metrics, OutboundTarget } from '../metrics/create-metrics.ts';
import { requestContext } from '../request-context.ts';
import type { Overload } from './overload.ts';
import { createUpstream, type Upstream } from './upstream.ts';

/** The upstream of a name, which comes from the configuration: always the same one for the same name. */
export type UpstreamOf = (target: Exclude<OutboundTarget, 'webhook'>, name: string) => Upstream;

export function createUpstreams(p: {
  readonly fetch: OutboundFetch;
  readonly observe: (fetch: OutboundFetch, target: OutboundTarget) => OutboundFetch;
  readonly overload: Overload;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly now: () => number;
}): UpstreamOf {
  const { overload, logger, metrics, now } = p;
  const upstreams = new Map<string, Upstream>();

  return (target, name) => {
    const key = `${target} ${name}`;
    const found = upstreams.get(key);
    if (found !== undefined) return found;
    metrics?.circuit(target, name, 0);
    const upstream = createUpstream({
      fetch: p.observe(p.fetch, target),
      perHost: overload.limits.outboundPerHost,
      waiting: overload.limits.waitingPerProvider,
      place: () => requestContext()?.place,
      onStopped: reason => overload.shed('outbound', reason),
      onCircuit(isOpen) {
        metrics?.circuit(target, name, isOpen ? 1 : -1);
        if (isOpen) logger.warn({ event: 'circuit.opened', target, name }, 'circuit opened after repeated timeouts');
        else logger.info({ event: 'circuit.closed', target, name }, 'circuit closed');
      },
      now,
    });
    upstreams.set(key, upstream);
    return upstream;
  };
}
