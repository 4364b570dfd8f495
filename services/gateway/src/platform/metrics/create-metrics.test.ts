import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { createDeliveryGauge } from './create-metrics.ts';

const counts = { waiting: 3, underWay: 1, delayed: 20, dead: 2 };
const samplesOf = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter(line => line.startsWith('postern_webhook_deliveries{'));

it('reports queued webhooks, and nothing while they cannot be read', async () => {
  const registry = new Registry();
  const watch = createDeliveryGauge(registry);
  expect(await samplesOf(registry)).toEqual([]);
  watch(async () => [{ endpoint: 'tracker.ends', counts }]);
  expect(await samplesOf(registry)).toEqual([
    'postern_webhook_deliveries{endpoint="tracker.ends",state="waiting"} 3',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="under_way"} 1',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="delayed"} 20',
    'postern_webhook_deliveries{endpoint="tracker.ends",state="dead"} 2',
  ]);
  watch(() => Promise.reject(new Error('away')));
  expect(await samplesOf(registry)).toEqual([]);
});

it('a scrape does not wait for an unresponsive Redis', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const registry = new Registry();
  createDeliveryGauge(registry)(() => new Promise(() => undefined));
  const scraped = samplesOf(registry);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await scraped).toEqual([]);
  vi.useRealTimers();
});
