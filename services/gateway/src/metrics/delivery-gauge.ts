import { Gauge, type Registry } from 'prom-client';
import type { EndpointDeliveries } from '../webhooks/webhooks.ts';
import { within } from '../within.ts';

export type ReadDeliveries = () => Promise<readonly EndpointDeliveries[]>;

/** How long Redis may take before a scrape goes on without, in ms. */
const WITHIN_MS = 1_000;

const STATES = [
  ['waiting', 'waiting'],
  ['under_way', 'underWay'],
  ['delayed', 'delayed'],
  ['dead', 'dead'],
] as const;

const none = (): readonly EndpointDeliveries[] => [];

/**
 * Webhooks by endpoint and state, read when somebody scrapes. While Redis does not answer there is no figure, rather than an old one.
 * @returns how to say where to read, once there is a place.
 */
export function createDeliveryGauge(registry: Registry): (read: ReadDeliveries) => void {
  let source: ReadDeliveries = async () => none();
  new Gauge({
    name: 'postern_webhook_deliveries',
    help: 'Webhooks that are queued, and those given up',
    labelNames: ['endpoint', 'state'],
    registers: [registry],
    async collect() {
      // What fails is told by the queues themselves, whose connection it is (webhook.error in the log).
      const found = await within(source().catch(none), WITHIN_MS, none());
      this.reset();
      for (const { endpoint, counts } of found)
        for (const [state, name] of STATES) this.set({ endpoint, state }, counts[name]);
    },
  });
  return read => {
    source = read;
  };
}
