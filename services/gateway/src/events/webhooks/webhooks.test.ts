import { readFileSync } from 'node:fs';
import { paymentEventTypes, StoreUnavailableError } from '@postern/elicitation';
import { openQueueRedis } from '@postern/store-redis';
import { startFaultProxy } from '@postern/testkit/fault-proxy';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { Queue } from 'bullmq';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseConfig } from '../../platform/config/load-config.ts';
import { newSecret, startReceiver, webhookStage } from '../../testing/webhook-stage.ts';
import { quickPace, webhooksConfig } from '../../testing/webhooks-config.ts';
import { QUEUE_NAME } from './delivery-queue.ts';
import type { Webhooks, WebhooksOptions } from './webhooks.ts';

type Stage = Awaited<ReturnType<typeof webhookStage>>;
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 100_000, interval: 20 });

let redis: RedisServer;
let stage: Stage;
let round = 0;
const running: Webhooks[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());
beforeEach(async () => {
  round += 1;
  stage = await webhookStage({ address: { url: redis.url }, prefix: `wh-${round}` });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(webhooks => webhooks.stop()));
  await stage[Symbol.asyncDispose]();
});

const secret = newSecret();
const none = { waiting: 0, underWay: 0, delayed: 0, dead: 0 };
async function start(endpoints: Parameters<Stage['start']>[0], options: Partial<WebhooksOptions> = {}) {
  const webhooks = await stage.start(endpoints, options);
  running.push(webhooks);
  return webhooks;
}
const healthOf = (name: string) => stage.stores.webhookEndpoints.read(name);

test('S56: delivers each event once, thin and signed, as the reference library verifies', async () => {
  await using receiver = await startReceiver();
  await start([{ id: 'hook', url: receiver.url, secrets: [secret] }]);
  const eventIds = await stage.publish(20);
  await until(() => expect(receiver.received).toHaveLength(20));
  expect(receiver.ids().sort()).toEqual([...eventIds].sort());
  for (const payload of receiver.verifiedWith(secret)) {
    expect(payload).toEqual({
      type: 'elicitation.completed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        eventId: expect.stringMatching(/^ev_/),
        elicitationId: expect.stringMatching(/^el_/),
        kind: 'authorization',
        status: 'completed',
        mcpServerId: 'tracker',
      },
    });
  }
});

test('sends neither events that the endpoint filters out nor events from before it existed', async () => {
  await using receiver = await startReceiver();
  await stage.publish(3);
  await start([{ id: 'hook', url: receiver.url, secrets: [secret], statuses: ['declined'] }]);
  await stage.publish(3, 'completed');
  await stage.publish(1, 'active');
  const wanted = await stage.publish(2, 'declined');
  await until(() => expect(receiver.received).toHaveLength(2));
  expect(receiver.ids().sort()).toEqual([...wanted].sort());
});

describe('N8: receivers that misbehave', () => {
  test.each<
    [
      string,
      number,
      (nth: number, response: Parameters<Parameters<typeof startReceiver>[0] & object>[1]) => number | undefined,
    ]
  >([
    ['500, then 200', 2, nth => (nth === 1 ? 500 : 200)],
    ['hangs, then 200', 2, nth => (nth === 1 ? undefined : 200)],
    [
      'resets the connection, then 200',
      2,
      (nth, response) => {
        if (nth > 1) return 200;
        response.destroy();
        return undefined;
      },
    ],
    [
      'closes after the headers of a 200',
      1,
      (_nth, response) => {
        response.writeHead(200, { 'content-length': '10' });
        response.write('1', () => response.destroy());
        return undefined;
      },
    ],
    [
      'responds 200 with an endless body',
      1,
      (_nth, response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        };
        response.on('drain', more);
        more();
        return undefined;
      },
    ],
    [
      'responds 200 with a body that drips',
      1,
      (_nth, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(drip));
        return undefined;
      },
    ],
  ])('%s', async (name, requests, answer) => {
    await using receiver = await startReceiver(answer);
    // A shorter timeout than in production.
    const options = name.startsWith('hangs') ? { timeoutMs: 300 } : {};
    await start([{ id: 'hook', url: receiver.url, secrets: [secret] }], options);
    const [eventId] = await stage.publish(1);
    await until(() => expect(receiver.received).toHaveLength(requests));
    expect(new Set(receiver.ids())).toEqual(new Set([eventId]));
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    receiver.verifiedWith(secret);
    await until(async () => expect(await stage.counts('tracker.hook')).toEqual(none));
    expect((await healthOf('tracker.hook')).failingSince).toBeUndefined();
    expect(stage.logged('webhook.dead')).toEqual([]);
  });

  test.each([
    ['a redirect', 302, 'redirect'],
    ['404', 404, 'status_404'],
  ])('%s is a failure, and ends as a dead delivery with its reason', async (_, status, reason) => {
    await using elsewhere = await startReceiver();
    await using receiver = await startReceiver((_nth, response) => {
      response.writeHead(status, { location: elsewhere.url }).end();
      return undefined;
    });
    await start([{ id: 'hook', url: receiver.url, secrets: [secret] }]);
    const [eventId] = await stage.publish(1);
    await until(() => expect(stage.logged('webhook.dead')).toHaveLength(1));
    expect(JSON.parse(stage.logged('webhook.dead')[0] ?? '')).toMatchObject({
      audit: true,
      endpoint: 'tracker.hook',
      eventId,
      reason,
    });
    expect(receiver.received).toHaveLength(4);
    expect(elsewhere.received).toHaveLength(0);
  });

  test('a 410 disables the endpoint once and loses no event', async () => {
    await using receiver = await startReceiver(nth => (nth === 1 ? 410 : 204));
    await start([{ id: 'hook', url: receiver.url, secrets: [secret], concurrency: 1 }]);
    const first = await stage.publish(3);
    await until(() => expect(stage.logged('webhook.disabled')).toHaveLength(1));
    const later = await stage.publish(3);
    expect((await healthOf('tracker.hook')).disabled?.reason).toBe('gone');
    expect(await stage.stores.webhookEndpoints.enable('tracker.hook')).toBe(true);
    // Only the delivery with the 410 response arrives twice.
    await until(() => expect(receiver.received).toHaveLength(7));
    expect(new Set(receiver.ids())).toEqual(new Set([...first, ...later]));
    expect(stage.logged('webhook.enabled')).toHaveLength(1);
  });

  test('72 hours of failures disable the endpoint', async () => {
    await using receiver = await startReceiver(() => 500);
    let now = Date.now();
    await start([{ id: 'hook', url: receiver.url, secrets: [secret] }], { now: () => now });
    await stage.publish(1);
    await until(() => expect(stage.logged('webhook.dead')).toHaveLength(1));
    expect((await healthOf('tracker.hook')).disabled).toBeUndefined();
    now += 73 * 3_600_000;
    await stage.publish(1);
    await until(async () => expect((await healthOf('tracker.hook')).disabled?.reason).toBe('failing'));
    await until(() => expect(stage.logged('webhook.disabled')).toHaveLength(1));
  });

  test('a 429 with Retry-After pauses the endpoint', async () => {
    await using receiver = await startReceiver((nth, response) => {
      if (nth > 1) return 204;
      response.writeHead(429, { 'retry-after': '2' }).end();
      return undefined;
    });
    await using other = await startReceiver();
    await start([
      { id: 'hook', url: receiver.url, secrets: [secret], concurrency: 1 },
      { id: 'other', url: other.url, secrets: [secret] },
    ]);
    await stage.publish(5);
    // The other endpoint gets all events before the pause of the first ends.
    await until(() => expect(other.received).toHaveLength(5));
    expect(receiver.received).toHaveLength(1);
    await until(() => expect(receiver.received).toHaveLength(6));
    expect(new Set(receiver.ids()).size).toBe(5);
  });

  test('a forbidden address makes a dead delivery without a connection', async () => {
    await start([{ id: 'hook', url: 'https://169.254.169.254/latest', secrets: [secret] }]);
    await stage.publish(1);
    await until(() => expect(stage.logged('webhook.dead')).toHaveLength(1));
    expect(stage.logged('webhook.dead')[0]).toContain('"reason":"blocked"');
  });
});

test('receivers with the old and the new secret both verify while two are configured', async () => {
  await using receiver = await startReceiver();
  const [oldSecret, fresh] = [newSecret(), newSecret()];
  const endpoint = { id: 'hook', url: receiver.url };
  const before = await stage.start([{ ...endpoint, secrets: [oldSecret] }]);
  await stage.publish(1);
  await until(() => expect(receiver.received).toHaveLength(1));
  await before.stop();
  const during = await stage.start([{ ...endpoint, secrets: [fresh, oldSecret] }]);
  await stage.publish(1);
  await until(() => expect(receiver.received).toHaveLength(2));
  await during.stop();
  await start([{ ...endpoint, secrets: [fresh] }]);
  await stage.publish(1);
  await until(() => expect(receiver.received).toHaveLength(3));
  const verified = (secret: string) =>
    receiver.received.map(({ body, headers }) => {
      try {
        return new Webhook(secret).verify(body, headers) !== undefined;
      } catch {
        return false;
      }
    });
  expect(verified(oldSecret)).toEqual([true, true, false]);
  expect(verified(fresh)).toEqual([false, true, true]);
});

test('P11: a stop does not wait for a hanging receiver, and the delivery is repeated', async () => {
  await using receiver = await startReceiver(nth => (nth === 1 ? undefined : 204));
  const hook = { id: 'hook', url: receiver.url, secrets: [secret] };
  const pace = { ...quickPace, graceMs: 100 };
  const first = await stage.start([hook], { pace });
  const [eventId] = await stage.publish(1);
  await until(() => expect(receiver.received).toHaveLength(1));
  await first.stop();
  expect((await healthOf('tracker.hook')).failingSince).toBeUndefined();
  await start([hook]);
  await until(() => expect(receiver.ids()).toEqual([eventId, eventId]));
});

test('a stop without deliveries does not wait for its grace period while Redis is down', async () => {
  await using own = await startRedis();
  await using stage = await webhookStage({ address: { url: own.url }, prefix: 'reconnecting' });
  await using receiver = await startReceiver();
  const pace = { ...quickPace, graceMs: 150_000 };
  const webhooks = await stage.start([{ id: 'hook', url: receiver.url, secrets: [secret] }], { pace });
  await until(async () => expect(await own.ask('CLIENT', 'LIST')).toContain('cmd=bzpopmin'));
  await own.kill();
  await until(() => expect(stage.logged('webhook.error')).not.toEqual([]));
  await webhooks.stop();
  await own.restart();
});

test('deliveries begin once Redis accepts the connections of their queue', async () => {
  await using receiver = await startReceiver();
  await using proxy = await startFaultProxy(redis.port);
  proxy.down();
  const refused = openQueueRedis({ address: { url: `redis://127.0.0.1:${proxy.port}` }, prefix: `wh-${round}` });
  await start([{ id: 'hook', url: receiver.url, secrets: [secret] }], { redis: refused });
  const eventIds = await stage.publish(3);
  await until(() => expect(stage.logged('webhook.error').length).toBeGreaterThan(2));
  proxy.up();
  await until(() => expect(receiver.ids().sort()).toEqual([...eventIds].sort()));
});

test('webhooks that are replaced while Redis is away leave the connection to those of the next configuration', async () => {
  await using receiver = await startReceiver();
  await using proxy = await startFaultProxy(redis.port);
  const shared = openQueueRedis({ address: { url: `redis://127.0.0.1:${proxy.port}` }, prefix: `wh-${round}` });
  const endpoints = [{ id: 'hook', url: receiver.url, secrets: [secret] }];
  const replaced = await start(endpoints, { redis: shared });
  proxy.down();
  await replaced.retire();
  proxy.up();
  await start(endpoints, { redis: shared });
  const eventIds = await stage.publish(3);
  await until(() => expect(receiver.ids().sort()).toEqual([...eventIds].sort()));
});

test('a configuration without new endpoints reads nothing of Redis before it is in force', async () => {
  const endpoints = [{ id: 'hook', url: 'http://127.0.0.1:9/', secrets: [secret] }];
  const before = parseConfig(webhooksConfig({ prefix: `wh-${round}` }, endpoints));
  const read = vi.spyOn(stage.stores.webhookEndpoints, 'read').mockRejectedValue(new StoreUnavailableError());
  await expect(start(endpoints)).rejects.toThrow(StoreUnavailableError);
  await start(endpoints, { before });
  read.mockRestore();
});

test('S56: delivers every event of a payment', async () => {
  await using receiver = await startReceiver();
  await start([{ id: 'hook', url: receiver.url, secrets: [secret] }]);
  const eventIds = (await Promise.all(paymentEventTypes.map(type => stage.publish(1, type)))).flat();
  await until(() => expect(receiver.ids().sort()).toEqual([...eventIds].sort()));
  const types = receiver.received.map(({ body }) => /"type":"([^"]+)"/.exec(body)?.[1]);
  expect(types.sort()).toEqual([...paymentEventTypes].sort());
  expect(stage.logged('webhook.postponed')).toEqual([]);
});

test('an unreadable job ends as a dead delivery with our own reason', async () => {
  await using receiver = await startReceiver();
  await start([{ id: 'hook', url: receiver.url, secrets: [secret] }]);
  const queueRedis = openQueueRedis({ address: { url: redis.url }, prefix: `wh-${round}` });
  const queue = new Queue(QUEUE_NAME, {
    connection: queueRedis.connection,
    prefix: queueRedis.prefixOf('tracker.hook'),
    defaultJobOptions: { attempts: 2, backoff: { type: 'schedule' } },
  });
  await queue.add('deliver', { eventId: 'canary-of-a-job' }, { jobId: 'ev_other' });
  await until(() => expect(stage.logged('webhook.dead')).toHaveLength(1));
  expect((await queue.getJob('ev_other'))?.failedReason).toBe('unreadable');
  expect(stage.lines.join('')).not.toContain('canary-of-a-job');
  expect(receiver.received).toEqual([]);
  await queue.close();
  queueRedis.close();
});

test('two replicas deliver each event once', async () => {
  await using receiver = await startReceiver();
  const endpoint = { id: 'hook', url: receiver.url, secrets: [secret], ratePerSecond: 1000 };
  await Promise.all([start([endpoint]), start([endpoint])]);
  const eventIds = (await Promise.all(Array.from({ length: 5 }, () => stage.publish(40)))).flat();
  await until(() => expect(new Set(receiver.ids()).size).toBe(200));
  expect(receiver.ids().sort()).toEqual([...eventIds].sort());
});

test('an endpoint that is removed from the configuration resumes where it was after it is added again', async () => {
  await using receiver = await startReceiver();
  await using other = await startReceiver();
  const hook = { id: 'hook', url: receiver.url, secrets: [secret] };
  const rest = { id: 'other', url: other.url, secrets: [secret] };
  const first = await stage.start([hook, rest]);
  await stage.publish(2);
  await until(() => expect(receiver.received.length + other.received.length).toBe(4));
  await first.stop();
  const second = await stage.start([rest]);
  await stage.publish(3);
  await until(() => expect(other.received).toHaveLength(5));
  expect(receiver.received).toHaveLength(2);
  await second.stop();
  await start([hook, rest]);
  await until(() => expect(receiver.received).toHaveLength(5));
});

test('logs a gap for events that the feed has dropped, and delivers the rest', async () => {
  await using small = await webhookStage({ address: { url: redis.url }, prefix: `wh-gap-${round}`, kept: 100 });
  await using receiver = await startReceiver();
  const hook = { id: 'hook', url: receiver.url, secrets: [secret], ratePerSecond: 1000 };
  await (await small.start([hook])).stop();
  const published = await small.publish(600);
  const webhooks = await small.start([hook]);
  running.push(webhooks);
  await until(() => expect(receiver.ids()).toContain(published.at(-1)));
  expect(small.logged('webhook.gap')).toHaveLength(1);
  expect(receiver.received.length).toBeLessThan(600);
  await running.pop()?.stop();
});

test('secrets appear neither in Redis nor in the log', async () => {
  await using receiver = await startReceiver(nth => (nth % 2 === 1 ? 500 : 204));
  await start([{ id: 'hook', url: receiver.url, secrets: [secret] }]);
  await stage.publish(5);
  await until(() => expect(new Set(receiver.ids()).size).toBe(5));
  const dump = await everythingIn(redis.url, `wh-${round}:`);
  expect(dump).toContain('deliveries');
  for (const place of [dump, stage.lines.join('')]) {
    expect(place).not.toContain(secret.slice(6));
    expect(place).not.toContain('/hooks');
  }
});

test('the permissions in KEYSPACE.md are sufficient for the Redis user', async () => {
  const keyspace = readFileSync(new URL('../../../../../packages/store-redis/KEYSPACE.md', import.meta.url), 'utf8');
  const needed = keyspace.slice(keyspace.indexOf('## What the Redis user needs'));
  const commands = new Set([...needed.matchAll(/`([A-Z|]+)`/g)].map(([, name = '']) => `+${name.toLowerCase()}`));
  const admin = openQueueRedis({ address: { url: redis.url } });
  const prefix = `acl-${round}`;
  await admin.connection.call('ACL', 'SETUSER', 'few', 'on', '>pw', `~${prefix}:*`, `&${prefix}:wake`, ...commands);
  const address = { url: redis.url.replace('redis://', 'redis://few:pw@') };
  await using few = await webhookStage({ address, prefix });
  await using receiver = await startReceiver(nth => (nth === 1 ? 410 : nth < 10 ? 500 : 204));
  const webhooks = await few.start([{ id: 'hook', url: receiver.url, secrets: [secret], concurrency: 1 }]);
  const eventIds = await few.publish(5);
  await until(() => expect(few.logged('webhook.disabled')).toHaveLength(1));
  await few.stores.webhookEndpoints.enable('tracker.hook');
  await until(() => expect(new Set(receiver.ids())).toEqual(new Set(eventIds)));
  await webhooks.stop();
  expect(await admin.connection.call('ACL', 'LOG')).toEqual([]);
  admin.close();
});

async function everythingIn(url: string, prefix: string): Promise<string> {
  const queueRedis = openQueueRedis({ address: { url } });
  const { connection } = queueRedis;
  const values = [];
  for (const name of await connection.keys(`${prefix}*`)) {
    const type = await connection.type(name);
    values.push(name);
    if (type === 'hash') values.push(JSON.stringify(await connection.hgetall(name)));
    if (type === 'stream') values.push(JSON.stringify(await connection.xrange(name, '-', '+')));
    if (type === 'zset') values.push(JSON.stringify(await connection.zrange(name, '0', '-1')));
    if (type === 'list') values.push(JSON.stringify(await connection.lrange(name, '0', '-1')));
    if (type === 'string') values.push(await connection.get(name));
  }
  queueRedis.close();
  return values.join('\n');
}
