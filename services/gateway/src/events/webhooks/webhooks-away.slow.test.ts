import { openQueueRedis } from '@postern/store-redis';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newSecret, startReceiver, webhookStage } from '../../testing/webhook-stage.ts';
import { retryDelayMs } from './delivery-policy.ts';
import { QUEUE_NAME } from './delivery-queue.ts';

/** The long run of the fault harness uses 50,000. */
const COUNT = Number(process.env['WEBHOOKS_WAITING'] ?? 500);
const RATE = 1_000;
const HOUR_MS = 3_600_000;
/** Ends a test that hangs. It does not limit the speed. */
const TIMEOUT_MS = 300_000 + COUNT * 40;
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: TIMEOUT_MS, interval: 20 });
const none = { waiting: 0, underWay: 0, delayed: 0, dead: 0 };
/** Read by the fault harness. */
const measure = (name: string, value: number, unit: string) =>
  void process.stdout.write(`measure ${JSON.stringify({ name, value: Math.round(value * 10) / 10, unit })}\n`);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** Attempts within the first hour of the schedule. */
function stepsWithinAnHour(): number {
  let at = 0;
  let steps = 1;
  for (;;) {
    at += retryDelayMs(steps, { random: 0 }) ?? Number.POSITIVE_INFINITY;
    if (at > HOUR_MS) return steps;
    steps += 1;
  }
}

test('N7: a receiver that is unavailable for an hour delays no other, and gets each delivery once within its rate', {
  timeout: 6 * TIMEOUT_MS,
}, async () => {
  const address = { url: redis.url };
  const secret = newSecret();
  await using stage = await webhookStage({ address, prefix: 'away', kept: COUNT * 2 });
  await using other = await startReceiver();
  const away = await startReceiver();
  await away.close();
  const limits = { secrets: [secret], ratePerSecond: RATE, concurrency: 16 };
  // The test moves the time. Until then, postponed deliveries wait.
  const pace = { leaseMs: 10_000, pauseMs: 50, retryDelay: () => 100 * HOUR_MS };
  const webhooks = await stage.start(
    [
      { id: 'away', url: away.url, ...limits },
      { id: 'other', url: other.url, ...limits },
    ],
    { pace },
  );
  const queueRedis = openQueueRedis({ address, prefix: 'away' });
  const queue = new Queue(QUEUE_NAME, {
    connection: queueRedis.connection,
    prefix: queueRedis.prefixOf('tracker.away'),
  });
  const heapBefore = process.memoryUsage().heapUsed;
  /** One call for all: between several calls, deliveries that failed again would be counted twice. */
  const promoteAll = () => queue.promoteJobs({ count: COUNT + 1 });
  const attempts = () => stage.logged('webhook.postponed').length;
  const allPostponed = async () => expect(await stage.counts('tracker.away')).toEqual({ ...none, delayed: COUNT });

  const eventIds = await stage.publish(COUNT);
  await until(() => expect(other.received).toHaveLength(COUNT));
  expect(new Set(other.ids())).toEqual(new Set(eventIds));
  other.verifiedWith(secret);

  for (let step = 1; step <= stepsWithinAnHour(); step += 1) {
    if (step > 1) await promoteAll();
    await until(allPostponed);
    // Exactly one attempt per delivery in this step.
    expect(attempts()).toBe(step * COUNT);
  }
  expect(other.received).toHaveLength(COUNT);

  const times: number[] = [];
  await using back = await startReceiver(
    () => {
      times.push(performance.now());
      return 204;
    },
    { port: away.port },
  );
  await promoteAll();
  await until(async () => expect(await stage.counts('tracker.away')).toEqual(none));
  await queue.close();
  queueRedis.close();
  await webhooks.stop();
  expect(back.received).toHaveLength(COUNT);
  expect(new Set(back.ids())).toEqual(new Set(eventIds));
  back.verifiedWith(secret);
  expect(busiestSecond(times)).toBeLessThanOrEqual(2 * RATE);
  measure('waiting', COUNT, '');
  measure('attempts per delivery and step', attempts() / COUNT / stepsWithinAnHour(), '');
  measure('drained', COUNT / (((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000), '/s');
  measure('heap grown by', (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20, 'MiB');
});

/** Maximum number of requests within any second. One second may overlap two windows of the limiter. */
function busiestSecond(times: readonly number[]): number {
  let most = 0;
  let from = 0;
  for (const [at, time] of times.entries()) {
    while (time - (times[from] ?? time) > 1_000) from += 1;
    most = Math.max(most, at - from + 1);
  }
  return most;
}
