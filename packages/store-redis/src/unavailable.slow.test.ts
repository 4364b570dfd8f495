import { inspect } from 'node:util';
import { samples } from '@postern/testkit/contract';
import { startRedis, startRedisCluster } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createRedisStores, RedisFault, type RedisStores } from './index.ts';

const { ask, created, engage, moved, operation, somebody } = samples;
const unavailable = { name: 'StoreUnavailableError', code: 'store_unavailable' };

async function recovered(stores: RedisStores): Promise<void> {
  await expect
    .poll(() =>
      stores.ping().then(
        () => 'ready',
        () => 'not ready',
      ),
    )
    .toBe('ready');
}

/** Opens stores with short timeouts. On a busy machine the start itself may need several attempts. */
async function openImpatient(url: string): Promise<RedisStores> {
  for (;;) {
    try {
      return await createRedisStores({ url, commandTimeoutMs: 200 });
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StoreUnavailableError') throw error;
    }
  }
}

describe('an unavailable Redis', () => {
  test('a Redis killed and restarted with its append-only file has every acknowledged write', async () => {
    await using redis = await startRedis({ args: ['--appendfsync', 'always'] });
    await using stores = await createRedisStores({ url: redis.url });
    const first = await created(stores.elicitations, ask(somebody()));
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);

    await redis.kill();
    await expect(stores.elicitations.read(first.elicitationId)).rejects.toMatchObject(unavailable);
    await expect(stores.ping()).rejects.toMatchObject(unavailable);

    await redis.restart();
    await recovered(stores);
    expect(await stores.elicitations.read(first.elicitationId)).toEqual(first);
    expect(await moved(stores.elicitations, active, samples.complete(active))).toMatchObject({ status: 'completed' });
  });

  test('an observer gets the name of every command, and the fault of a failed one', async () => {
    await using redis = await startRedis();
    const heard: string[] = [];
    await using stores = await createRedisStores({
      url: redis.url,
      onCommand: name => fault => heard.push(`${name} ${fault?.kind ?? 'fine'}`),
    });
    const { elicitationId } = await created(stores.elicitations, ask(somebody()));
    await stores.elicitations.read(elicitationId);
    await redis.kill();
    await expect(stores.elicitations.read(elicitationId)).rejects.toMatchObject(unavailable);
    expect(heard.slice(0, 2)).toEqual(['createElicitation fine', 'hmget fine']);
    expect(heard[2]).toMatch(/^hmget (refused|ambiguous)$/);
    expect(heard).toHaveLength(3);
  });

  test('while a cluster node restarts, its users wait and the others are not affected', async () => {
    await using cluster = await startRedisCluster({ args: ['--appendfsync', 'always'] });
    await using stores = await createRedisStores({ nodes: cluster.urls });
    const people = await Promise.all(Array.from({ length: 12 }, () => created(stores.elicitations, ask(somebody()))));
    await cluster.nodes[2]?.kill();
    const read = await Promise.allSettled(people.map(({ elicitationId }) => stores.elicitations.read(elicitationId)));
    for (const result of read) if (result.status === 'rejected') expect(result.reason).toMatchObject(unavailable);

    await cluster.nodes[2]?.restart();
    await expect
      .poll(() =>
        Promise.all(people.map(({ elicitationId }) => stores.elicitations.read(elicitationId))).catch(() => []),
      )
      .toEqual(people);
  });

  test('requests to a frozen Redis time out, and nothing is executed twice afterwards', async () => {
    await using redis = await startRedis();
    await using patient = await createRedisStores({ url: redis.url });
    await using impatient = await openImpatient(redis.url);
    const current = await created(patient.elicitations, ask(somebody()));
    redis.suspend();
    const move = { current, operationId: operation(), ...engage };
    await expect(impatient.elicitations.transition(move)).rejects.toMatchObject(unavailable);
    redis.resume();
    await recovered(patient);
    expect(await patient.elicitations.transition(move)).toMatchObject({
      result: 'applied',
      elicitation: { version: 2 },
    });
  });

  test('a Redis that is silent until its connection is closed delays requests, and refuses none', async () => {
    await using redis = await startRedis();
    const faults: RedisFault[] = [];
    await using stores = await createRedisStores({
      url: redis.url,
      commandTimeoutMs: 2_000,
      onFault: fault => faults.push(fault),
    });
    const { elicitationId } = await created(stores.elicitations, ask(somebody()));
    redis.suspend();
    const waiting = [stores.elicitations.create(ask(somebody())), stores.elicitations.read(elicitationId)];
    await expect.poll(() => faults.length, { timeout: 10_000 }).toBeGreaterThan(0);
    // These find no connection.
    const arriving = [stores.elicitations.create(ask(somebody())), stores.elicitations.read(elicitationId)];
    redis.resume();
    const found = await Promise.allSettled([...waiting, ...arriving]);
    const each = [{ value: { result: 'created' } }, { value: { elicitationId } }];
    expect(found).toMatchObject([...each, ...each]);
  });

  test('the start gives up in time if Redis never answers', async () => {
    const redis = await startRedis();
    await redis[Symbol.asyncDispose]();
    await expect(createRedisStores({ url: redis.url, startTimeoutMs: 200 })).rejects.toMatchObject(unavailable);
  });
});

describe('a refusing Redis', () => {
  test.each([
    { condition: 'OOM', settings: [['config', 'set', 'maxmemory', '1']] },
    { condition: 'READONLY', settings: [['replicaof', '127.0.0.1', '1']] },
    { condition: 'NOREPLICAS', settings: [['config', 'set', 'min-replicas-to-write', '1']] },
  ])('$condition: nothing is written, and no value is in the error', async ({ condition, settings }) => {
    await using redis = await startRedis();
    await using stores = await createRedisStores({ url: redis.url });
    const current = await created(stores.elicitations, ask(somebody()));
    const operator = new Redis(redis.url);
    for (const [command = '', ...args] of settings) await operator.call(command, ...args);
    operator.disconnect();

    const request = ask(somebody());
    const attempts = [
      stores.elicitations.create(request),
      stores.elicitations.transition({
        current,
        operationId: request.operationId,
        ...(samples.complete(current) as object),
        ...engage,
      }),
      stores.oneTime.claim(request.operationId, 60_000),
    ];
    const results = await Promise.allSettled(attempts);
    // When the gateway leaves a replica, the other commands in flight fail with the connection.
    expect(results[0]).toMatchObject({ reason: { cause: { code: condition } } });
    for (const result of results) {
      if (result.status !== 'rejected') throw new Error('A write was acknowledged.');
      expect(result.reason).toMatchObject(unavailable);
      expect(inspect(result.reason, { depth: 10, showHidden: true })).not.toContain(request.operationId);
    }
    await recovered(stores);
    expect(await stores.elicitations.read(current.elicitationId)).toEqual(current);
    expect(await stores.elicitations.read(request.elicitation.elicitationId)).toBeUndefined();
  });

  test('a wrong password fails the start and is not shown', async () => {
    await using redis = await startRedis({ args: ['--user', 'default', 'on', '>right', '~*', '&*', '+@all'] });
    const faults: RedisFault[] = [];
    const start = createRedisStores({
      url: `redis://:wrong-password@127.0.0.1:${redis.port}`,
      startTimeoutMs: 3_000,
      onFault: fault => faults.push(fault),
    });
    await expect(start).rejects.toMatchObject({ ...unavailable, cause: { code: 'WRONGPASS' } });
    expect(faults[0]).toBeInstanceOf(RedisFault);
    expect(inspect(faults, { depth: 10 })).not.toContain('wrong-password');
  });

  test('reloads scripts that Redis has forgotten', async () => {
    await using redis = await startRedis();
    await using stores = await createRedisStores({ url: redis.url });
    const operator = new Redis(redis.url);
    let current = await created(stores.elicitations, ask(somebody()));
    await operator.script('FLUSH');
    current = await moved(stores.elicitations, current, engage);
    await operator.script('FLUSH');
    expect(await moved(stores.elicitations, current, samples.cancel)).toMatchObject({ version: 3 });
    await operator.script('FLUSH');
    const people = await Promise.all(Array.from({ length: 20 }, () => stores.elicitations.create(ask(somebody()))));
    expect(new Set(people.map(({ result }) => result))).toEqual(new Set(['created']));
    operator.disconnect();
  });
});
