import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

/** How many webhooks of an endpoint are in which state, of all replicas together. */
export interface EndpointDeliveries {
  readonly endpoint: string;
  readonly counts: Readonly<Record<'waiting' | 'under_way' | 'delayed' | 'dead', number>>;
}

export type ReadDeliveries = () => Promise<readonly EndpointDeliveries[]>;

/** How long Redis may take before a scrape goes on without, in ms. */
const WITHIN_MS = 1_000;

/**
 * Webhooks by endpoint and state, read when somebody scrapes. While Redis does not answer there is no figure, rather than an old one.
 * @returns how to say where to read, once there is a place.
 */
export function createDeliveryGauge(registry: Registry): (read: ReadDeliveries) => void {
  let source: ReadDeliveries = async () => [];
  new Gauge({
    name: 'postern_webhook_deliveries',
    help: 'Webhooks that are queued, and those given up',
    labelNames: ['endpoint', 'state'],
    registers: [registry],
    async collect() {
      const found = await readWithin(source);
      this.reset();
      for (const { endpoint, counts } of found)
        for (const [state, count] of Object.entries(counts)) this.set({ endpoint, state }, count);
    },
  });
  return read => {
    source = read;
  };
}

async function readWithin(read: ReadDeliveries): Promise<readonly EndpointDeliveries[]> {
  const over = new AbortController();
  const late = delay<readonly EndpointDeliveries[]>(WITHIN_MS, [], { signal: over.signal });
  // What is over is nobody's business any more; what fails is told where commands are counted.
  late.catch(() => undefined);
  const found = read().catch((): readonly EndpointDeliveries[] => []);
  try {
    return await Promise.race([found, late]);
  } finally {
    over.abort();
  }
}
