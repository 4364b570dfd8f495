import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type CreateElicitation, shardIn } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { DurabilityChange } from './durability.ts';
import { createRedisStores, openQueueRedis, type RedisStores, type RedisStoresOptions } from './index.ts';

const { ask, complete, connectionIdFor, created, engage, moved, operation, renewed, somebody } = samples;

const unavailable = { name: 'StoreUnavailableError', cause: { kind: 'unconfirmed', code: 'not_replicated' } };

/** Longer than any test, so that the reply of a replica decides and not the load of the machine. */
const PATIENT = { profile: 'ha', timeoutMs: 60_000 } as const;
/** For a replica that does not run: no replica ever confirms such a write. */
const IMPATIENT = { profile: 'ha', timeoutMs: 20 } as const;

/** Opens stores with short timeouts. The start needs a confirmation as well, so a busy machine may need several attempts. */
async function openImpatient(url: string): Promise<RedisStores> {
  const options: RedisStoresOptions = { url, durability: IMPATIENT, commandTimeoutMs: 30_000 };
  for (;;) {
    try {
      return await createRedisStores(options);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'UnsafeRedisError') throw error;
    }
  }
}

async function startReplicaOf(master: RedisServer): Promise<RedisServer> {
  const replica = await startRedis({ args: ['--replicaof', master.host, String(master.port)] });
  const isOnline = new RegExp(`^slave\\d+:.*port=${replica.port},state=online`, 'm');
  while (!isOnline.test(await master.ask('INFO', 'replication')));
  return replica;
}

describe('the start-up check of a profile', () => {
  test.each([
    { profile: 'single', args: ['--appendfsync', 'no'], setting: 'appendfsync' },
    { profile: 'single-strict', args: [], setting: 'appendfsync' },
    { profile: 'ha', args: [], setting: 'replicas' },
    { profile: 'ha', args: ['--maxmemory-policy', 'allkeys-lru'], setting: 'maxmemory-policy' },
  ] as const)('profile $profile rejects $setting', async ({ profile, args, setting }) => {
    await using redis = await startRedis({ args });
    const start = createRedisStores({ url: redis.url, durability: { profile } });
    await expect(start).rejects.toMatchObject({ name: 'UnsafeRedisError', setting });
  });

  test.each([
    { profile: 'single', fsync: 'everysec' },
    { profile: 'single', fsync: 'always' },
    { profile: 'single-strict', fsync: 'always' },
  ] as const)('$profile with appendfsync $fsync will do', async ({ profile, fsync }) => {
    await using redis = await startRedis({ args: ['--appendfsync', fsync] });
    await using stores = await createRedisStores({ url: redis.url, durability: { profile } });
    await stores.ping();
  });

  test('rejects profile ha on a replica', async () => {
    await using master = await startRedis();
    await using replica = await startReplicaOf(master);
    const start = createRedisStores({ url: replica.url, durability: { profile: 'ha' } });
    await expect(start).rejects.toMatchObject({ name: 'UnsafeRedisError', setting: 'role' });
  });

  test('rejects profile ha if the connected replicas confirm nothing', async () => {
    await using master = await startRedis();
    await using replica = await startReplicaOf(master);
    replica.suspend();
    const start = createRedisStores({ url: master.url, durability: IMPATIENT, startTimeoutMs: 200 });
    await expect(start).rejects.toMatchObject({ name: 'UnsafeRedisError', setting: 'replicas' });
  });
});

describe('the durability watch', () => {
  test.each([
    { setting: 'maxmemory-policy', safe: 'noeviction', unsafe: 'allkeys-lru' },
    { setting: 'appendonly', safe: 'yes', unsafe: 'no' },
    { setting: 'appendfsync', safe: 'everysec', unsafe: 'no' },
  ])('$setting', async ({ setting, safe, unsafe }) => {
    await using redis = await startRedis();
    const changes: DurabilityChange[] = [];
    let noticed = () => {};
    const next = () =>
      new Promise<void>(resolve => {
        noticed = resolve;
      });
    await using stores = await createRedisStores({
      url: redis.url,
      watchMs: 20,
      onDurability: change => {
        changes.push(change);
        noticed();
      },
    });
    const lost = next();
    await redis.ask('CONFIG', 'SET', setting, unsafe);
    await lost;
    await expect(stores.ping()).rejects.toMatchObject({ setting });
    const regained = next();
    await redis.ask('CONFIG', 'SET', setting, safe);
    await regained;
    await stores.ping();
    expect(changes).toEqual([{ holds: false, reason: setting }, { holds: true }]);
  });

  test('notices that Redis is unreachable, and that it is back', async () => {
    await using redis = await startRedis();
    const changes: DurabilityChange[] = [];
    await using stores = await createRedisStores({ url: redis.url, onDurability: change => changes.push(change) });
    await redis.kill();
    const unavailable = { name: 'StoreUnavailableError' };
    await expect(stores.ping()).rejects.toMatchObject(unavailable);
    expect(changes).toEqual([]);
    await expect(stores.ping()).rejects.toMatchObject(unavailable);
    expect(changes).toEqual([{ holds: false, reason: 'unknown' }]);
  });
});

/** A proxy that leads to one Redis, and after a switch to another; open connections stay where they are. */
async function startSwitch(first: RedisServer) {
  let target = first;
  const halves = new Set<Socket>();
  const listener = createServer(near => {
    const far = connect(target.port, target.host);
    for (const [half, other] of [
      [near, far],
      [far, near],
    ] as const) {
      halves.add(half);
      half.on('error', () => half.destroy());
      half.on('close', () => other.destroy());
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    leadTo(next: RedisServer) {
      target = next;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const half of halves) half.destroy();
      await once(listener, 'close');
    },
  };
}

test('a promoted replica never confirms replies of its old master', async () => {
  await using old = await startRedis();
  await using promoted = await startReplicaOf(old);
  await using further = await startReplicaOf(promoted);
  await using address = await startSwitch(old);
  await using stores = await createRedisStores({ url: address.url, durability: PATIENT });
  const acknowledged = (request: CreateElicitation) =>
    expect
      .poll(() => stores.elicitations.create(request).catch(({ name }: Error) => name))
      .toMatchObject({ result: 'created' });
  await acknowledged(ask(somebody()));

  // The replica of the new master would confirm anything. The confirming connection leads there; the request connection does not.
  await promoted.ask('REPLICAOF', 'NO', 'ONE');
  address.leadTo(promoted);
  const [, id = ''] = /id=(\d+) [^\n]*name=postern-confirm/.exec(await old.ask('CLIENT', 'LIST')) ?? [];
  await old.ask('CLIENT', 'KILL', 'ID', id);
  while (!(await promoted.ask('CLIENT', 'LIST')).includes('name=postern-confirm'));

  const request = ask(somebody());
  // Refused until the request connection has also found the new master.
  await acknowledged(request);
  // The write is acknowledged once the new master and its replica have it.
  await promoted.kill();
  await using after = await createRedisStores({ url: further.url });
  expect(await after.elicitations.read(request.elicitation.elicitationId)).toMatchObject({ status: 'pending' });
});

describe('profile ha', () => {
  let master: RedisServer;
  let replica: RedisServer;
  /** Writes while the replica runs. While it is stopped, reads only what needs no confirmation. */
  let stores: RedisStores;
  /** Two further processes, for a replica that is stopped. */
  let one: RedisStores;
  let other: RedisStores;

  beforeAll(async () => {
    master = await startRedis();
    replica = await startReplicaOf(master);
    [stores, one, other] = await Promise.all([
      createRedisStores({ url: master.url, durability: PATIENT }),
      openImpatient(master.url),
      openImpatient(master.url),
    ]);
  });
  afterEach(() => replica.resume());
  afterAll(async () => {
    await Promise.all([stores.close(), one.close(), other.close()]);
    await Promise.all([master[Symbol.asyncDispose](), replica[Symbol.asyncDispose]()]);
  });

  const announced = async (elicitationId: Parameters<typeof shardIn>[0]) => {
    const logged = await stores.events.read(shardIn(elicitationId), { limit: 1_000 });
    return logged.filter(({ event }) => event.elicitationId === elicitationId);
  };

  test('warns of a master that loses acknowledged writes at a restart, or accepts writes without a replica', async () => {
    const warned: string[] = [];
    const onWarning = (setting: string) => void warned.push(setting);
    await using _stores = await createRedisStores({ url: master.url, durability: { profile: 'ha' }, onWarning });
    expect(warned).toEqual(['appendfsync', 'min-replicas-to-write']);
  });

  test('does not acknowledge a write that no replica has, and applies its repeat once', async () => {
    const request = ask(somebody());
    const { elicitationId } = request.elicitation;
    replica.suspend();
    await expect(one.elicitations.create(request)).rejects.toMatchObject(unavailable);
    // The repeat writes nothing, and no replica confirms it either.
    await expect(one.elicitations.create(request)).rejects.toMatchObject(unavailable);
    replica.resume();
    expect(await stores.elicitations.create(request)).toMatchObject({
      result: 'created',
      elicitation: { elicitationId, version: 1 },
    });
    expect(await announced(elicitationId)).toHaveLength(1);
  });

  test('exposes an unconfirmed end to no reader, no other process and no feed', async () => {
    const current = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    const { elicitationId } = current;
    const shard = shardIn(elicitationId);
    const move = { current, operationId: operation(), ...complete(current) };
    replica.suspend();
    await expect(one.elicitations.transition(move)).rejects.toMatchObject(unavailable);
    for (const process of [one, other]) {
      await expect(process.elicitations.read(elicitationId)).rejects.toMatchObject(unavailable);
      await expect(process.connections.read(connectionIdFor(current.subject))).rejects.toMatchObject(unavailable);
      await expect(process.outbox.read(shard, { after: undefined, limit: 10 })).rejects.toMatchObject(unavailable);
    }
    replica.resume();
    expect(await stores.elicitations.read(elicitationId)).toMatchObject({ status: 'completed', version: 3 });
    expect(await stores.elicitations.transition(move)).toMatchObject({
      result: 'applied',
      elicitation: { version: 3 },
    });
    expect(await announced(elicitationId)).toHaveLength(3);
  });

  test('reads an open elicitation without confirmation', async () => {
    const { elicitationId } = await created(stores.elicitations, ask(somebody()));
    replica.suspend();
    expect(await one.elicitations.read(elicitationId)).toMatchObject({ status: 'pending' });
  });

  test('hands out a refreshed token set only after its confirmation', async () => {
    const current = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    await moved(stores.elicitations, current, complete(current));
    const connectionId = connectionIdFor(current.subject);
    const before = await stores.connections.read(connectionId);
    if (before === undefined) throw new Error('not connected');
    await stores.connections.beginRefresh({ current: before, holder: 'one', leaseMs: 60_000 });
    const refreshed = { current: before, ...renewed() };
    replica.suspend();
    await expect(one.connections.finishRefresh(refreshed)).rejects.toMatchObject(unavailable);
    await expect(other.connections.read(connectionId)).rejects.toMatchObject(unavailable);
    replica.resume();
    expect(await stores.connections.finishRefresh(refreshed)).toMatchObject({ result: 'stored' });
    expect(await stores.connections.read(connectionId)).toMatchObject({ generation: 2 });
    replica.suspend();
    // The process remembers that this version was confirmed, and reads it without another confirmation.
    expect(await stores.connections.read(connectionId)).toMatchObject({ generation: 2 });
  });

  test('confirms a queued job before the gateway relies on it', async () => {
    const address = { url: master.url };
    const queue = openQueueRedis({ address, durability: PATIENT });
    const impatient = openQueueRedis({ address, durability: IMPATIENT });
    try {
      await Promise.all([queue.connection.ping(), impatient.connection.ping()]);
      const confirmed = queue.guard('tracker.confirmed');
      await queue.connection.set('postern:{wh.tracker.confirmed}:job', 'one');
      await confirmed();
      const unconfirmed = impatient.guard('tracker.confirmed');
      replica.suspend();
      await impatient.connection.set('postern:{wh.tracker.confirmed}:job', 'two');
      await expect(unconfirmed()).rejects.toMatchObject(unavailable);
    } finally {
      queue.close();
      impatient.close();
    }
  });

  test('of many concurrent writes, the first waits for the replica and all others share a second wait', async () => {
    const CROWD = 64;
    let waiting = 0;
    const everybody = Promise.withResolvers<void>();
    await using crowded = await createRedisStores({
      url: master.url,
      durability: PATIENT,
      onCommand: name => {
        if (name === 'confirm') waiting += 1;
        if (waiting === CROWD) everybody.resolve();
        return () => undefined;
      },
    });
    const rounds = async () =>
      Number(/cmdstat_wait:calls=(\d+)/.exec(await master.ask('INFO', 'commandstats'))?.[1] ?? 0);
    // The start also asks for a confirmation, once per shard.
    waiting = 0;
    const before = await rounds();
    replica.suspend();
    const writes = Promise.all(Array.from({ length: CROWD }, () => created(crowded.elicitations, ask(somebody()))));
    await everybody.promise;
    replica.resume();
    await writes;
    expect((await rounds()) - before).toBe(2);
  });

  test('notices a lost replica', async () => {
    await replica.kill();
    try {
      while ((await master.ask('INFO', 'replication')).includes('state=online'));
      await expect(stores.ping()).rejects.toMatchObject({ setting: 'replicas' });
    } finally {
      await replica.restart();
      while (!(await master.ask('INFO', 'replication')).includes('state=online'));
    }
    await stores.ping();
  });
});
