import { samples } from '@postern/testkit/contract';
import { startFaultProxy } from '@postern/testkit/fault-proxy';
import { type RedisCluster, type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisStores } from './index.ts';

const { ask, cancel, complete, connectionIdFor, created, engage, moved, renewed, somebody } = samples;
const FOREVER = 10 * 60_000;

describe('wake-ups between replicas', () => {
  let redis: RedisServer;
  let cluster: RedisCluster;
  beforeAll(async () => {
    [redis, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
  });
  afterAll(() => Promise.all([redis[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]));

  test('each transition on one replica wakes a waiter on another', async () => {
    await using one = await createRedisStores({ url: redis.url });
    await using other = await createRedisStores({ url: redis.url });
    const request = ask(somebody());
    using watch = other.notifier.watch(request.elicitation.elicitationId);
    const elicitation = await created(one.elicitations, request);
    await watch.next(FOREVER);
    const waiting = watch.next(FOREVER);
    await moved(one.elicitations, elicitation, cancel);
    await waiting;
    expect(await other.elicitations.read(elicitation.elicitationId)).toMatchObject({ status: 'cancelled' });
  });

  test('a token set stored on one replica wakes the waiters for its connection on another', async () => {
    await using one = await createRedisStores({ url: redis.url });
    await using other = await createRedisStores({ url: redis.url });
    const active = await moved(one.elicitations, await created(one.elicitations, ask(somebody())), engage);
    const connectionId = connectionIdFor(active.subject);
    using watch = other.notifier.watch(connectionId);
    await moved(one.elicitations, active, complete(active));
    await watch.next(FOREVER);
    const current = await other.connections.read(connectionId);
    if (current === undefined) throw new Error('Expected a connection.');
    const waiting = watch.next(FOREVER);
    await one.connections.finishRefresh({ current, ...renewed() });
    await waiting;
    expect(await other.connections.read(connectionId)).toMatchObject({ generation: 2 });
  });

  test('in a cluster, a wake-up reaches waiters on any node from any node', async () => {
    await using mover = await createRedisStores({ nodes: cluster.urls });
    const replicas = await Promise.all(cluster.urls.map(url => createRedisStores({ nodes: [url] })));
    const requests = Array.from({ length: 9 }, () => ask(somebody()));
    const watches = replicas.flatMap(({ notifier }) =>
      requests.map(({ elicitation }) => notifier.watch(elicitation.elicitationId)),
    );
    const elicitations = await Promise.all(requests.map(request => created(mover.elicitations, request)));
    await Promise.all(watches.map(watch => watch.next(FOREVER)));
    const waiting = Promise.all(watches.map(watch => watch.next(FOREVER)));
    await Promise.all(elicitations.map(elicitation => moved(mover.elicitations, elicitation, cancel)));
    await waiting;
    await Promise.all(replicas.map(replica => replica.close()));
  });

  test('a restored subscription wakes all waiters', async () => {
    await using proxy = await startFaultProxy(redis.port);
    await using cutOff = await createRedisStores({ url: `redis://127.0.0.1:${proxy.port}` });
    // Nothing happens to this elicitation, so only the restored subscription can end the wait.
    using watch = cutOff.notifier.watch(ask(somebody()).elicitation.elicitationId);
    const waiting = watch.next(FOREVER);
    proxy.disconnectAll();
    await waiting;
  });

  test('the start rejects a Redis user that may not subscribe', async () => {
    await using strict = await startRedis({
      args: ['--user', 'default', 'on', 'nopass', '~*', 'resetchannels', '+@all'],
    });
    const start = createRedisStores({ url: strict.url, startTimeoutMs: 3_000 });
    await expect(start).rejects.toMatchObject({ code: 'store_unavailable', cause: { code: 'NOPERM' } });
  });

  test('a process has one subscription, however many waiters it has', async () => {
    const name = 'subscription-count';
    await using stores = await createRedisStores({ url: redis.url, connectionName: name });
    const watches = Array.from({ length: 100 }, () => stores.notifier.watch(ask(somebody()).elicitation.elicitationId));
    const operator = new Redis(redis.url);
    const connections = String(await operator.client('LIST'))
      .split('\n')
      .filter(line => line.includes(`name=${name}`));
    operator.disconnect();
    expect(connections).toHaveLength(2);
    for (const watch of watches) watch[Symbol.dispose]();
  });
});
