import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openQueueRedis } from '@postern/store-redis';
import { type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newSecret, startReceiver, webhookStage } from '../../testing/webhook-stage.ts';
import { killedPace, quickPace } from '../../testing/webhooks-config.ts';
import { QUEUE_NAME } from './delivery-queue.ts';

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 100_000, interval: 20 });
const secret = newSecret();
const none = { waiting: 0, underWay: 0, delayed: 0, dead: 0 };

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** Starts a replica in its own process, which dies at this point. */
async function startDoomed(prefix: string, receiver: string, point: string) {
  const script = fileURLToPath(new URL('../../testing/webhooks-and-die.ts', import.meta.url));
  const child = spawn(process.execPath, [script, redis.url, prefix, receiver, secret, point], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  return { exited };
}

test.each([
  ['P8', 'answered'],
  ['P7', 'read'],
  ['P7', 'queued'],
  ['P7', 'cursor_sent'],
])(
  '%s: killed when it has %s: another replica continues, no event is lost, repeats keep their id',
  async (_, point) => {
    const prefix = `kill-${point.replace('_', '-')}`;
    await using stage = await webhookStage({ address: { url: redis.url }, prefix });
    await using receiver = await startReceiver();
    const doomed = await startDoomed(prefix, receiver.url, point);
    const eventIds = await stage.publish(30);
    expect(await doomed.exited).toEqual([null, 'SIGKILL']);
    const before = receiver.ids();
    const hook = { id: 'hook', url: receiver.url, secrets: [secret] };
    const webhooks = await stage.start([hook], { pace: killedPace });
    await until(() => expect(new Set(receiver.ids())).toEqual(new Set(eventIds)));
    await until(async () => expect(await stage.counts('tracker.hook')).toEqual(none));
    await webhooks.stop();
    receiver.verifiedWith(secret);
    const repeated = receiver.ids().filter((id, at, all) => all.indexOf(id) !== at);
    // At least the first delivery, at most those in progress when the replica was killed.
    if (point === 'answered') expect(repeated.length).toBeGreaterThan(0);
    expect(repeated.filter(id => !before.includes(id))).toEqual([]);
    expect(repeated.length).toBeLessThanOrEqual(8);
  },
);

test('N7: an unavailable receiver delays no other, and gets each delivery once after it is back', async () => {
  const COUNT = 500;
  const address = { url: redis.url };
  await using stage = await webhookStage({ address, prefix: 'away' });
  await using other = await startReceiver();
  const away = await startReceiver();
  await away.close();
  const pace = { leaseMs: 2_000, pauseMs: 50, retryDelay: () => 3_600_000 };
  const limits = { secrets: [secret], ratePerSecond: 1000, concurrency: 16 };
  const webhooks = await stage.start(
    [
      { id: 'away', url: away.url, ...limits },
      { id: 'other', url: other.url, ...limits },
    ],
    { pace },
  );
  const eventIds = await stage.publish(COUNT);
  await until(() => expect(other.received).toHaveLength(COUNT));
  expect(new Set(other.ids())).toEqual(new Set(eventIds));
  await until(async () => expect(await stage.counts('tracker.away')).toEqual({ ...none, delayed: COUNT }));
  // Exactly one attempt in this step of the schedule.
  expect(stage.logged('webhook.postponed')).toHaveLength(COUNT);

  await using back = await startReceiver(undefined, { port: away.port });
  const queueRedis = openQueueRedis({ address, prefix: 'away' });
  const queue = new Queue(QUEUE_NAME, {
    connection: queueRedis.connection,
    prefix: queueRedis.prefixOf('tracker.away'),
  });
  // The receiver is back.
  await queue.promoteJobs();
  await until(async () => expect(await stage.counts('tracker.away')).toEqual(none));
  await queue.close();
  queueRedis.close();
  await webhooks.stop();
  expect(back.received).toHaveLength(COUNT);
  expect(new Set(back.ids())).toEqual(new Set(eventIds));
});

test('all replicas share the rate of an endpoint', async () => {
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'rate' });
  const times: number[] = [];
  await using receiver = await startReceiver(() => {
    times.push(performance.now());
    return 204;
  });
  const endpoint = { id: 'hook', url: receiver.url, secrets: [secret], ratePerSecond: 5 };
  const replicas = await Promise.all([stage.start([endpoint]), stage.start([endpoint])]);
  await stage.publish(11);
  await until(() => expect(times).toHaveLength(11));
  await Promise.all(replicas.map(webhooks => webhooks.stop()));
  // Eleven requests need three windows of five. The first may have begun shortly before its first request arrived.
  expect((times[10] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_500);
});

test('R1: deliveries continue after a restart of Redis, and a stop without Redis ends', async () => {
  await using own = await startRedis({ args: ['--appendfsync', 'always'] });
  await using stage = await webhookStage({ address: { url: own.url }, prefix: 'restart' });
  await using receiver = await startReceiver();
  const pace = { ...quickPace, graceMs: 200 };
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret] }], { pace });
  const first = await stage.publish(5);
  await until(() => expect(new Set(receiver.ids())).toEqual(new Set(first)));
  await own.kill();
  await own.restart();
  let later: string[] = [];
  await until(async () => {
    later = await stage.publish(1);
  });
  await until(() => expect(receiver.ids()).toEqual(expect.arrayContaining(later)));
  await own.kill();
  await webhooks.stop();
});

test('R1: a stop ends while a dispatcher waits for the Redis of its queue', async () => {
  await using own = await startRedis();
  await using stage = await webhookStage({ address: { url: redis.url }, prefix: 'waiting' });
  await using receiver = await startReceiver();
  // The start reads this record, and then the first round does, before it asks the queue.
  const read = vi.spyOn(stage.stores.webhookEndpoints, 'read');
  const queueRedis = openQueueRedis({ address: { url: own.url }, prefix: 'waiting' });
  await own.kill();
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret] }], { redis: queueRedis });
  await until(() => expect(read.mock.calls.length).toBeGreaterThan(1));
  await webhooks.stop();
});

test('R12: on Redis Cluster, each script of a queue stays within its slot', async () => {
  await using cluster = await startRedisCluster();
  await using stage = await webhookStage({ address: { nodes: cluster.urls }, prefix: 'slots' });
  await using receiver = await startReceiver(nth => (nth % 3 === 0 ? 500 : 204));
  await using other = await startReceiver();
  const webhooks = await stage.start([
    { id: 'hook', url: receiver.url, secrets: [secret] },
    { id: 'other', url: other.url, secrets: [secret] },
  ]);
  const eventIds = await stage.publish(20);
  await until(() => expect(new Set(receiver.ids())).toEqual(new Set(eventIds)));
  await until(() => expect(new Set(other.ids())).toEqual(new Set(eventIds)));
  await until(async () => expect(await stage.counts('tracker.hook')).toEqual(none));
  await webhooks.stop();
});
