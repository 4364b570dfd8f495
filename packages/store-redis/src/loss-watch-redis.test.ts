import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SHARDS, type Shard, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { isShortRun } from '@postern/testkit/run-size';
import { Redis } from 'ioredis';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRedisStores, isDataLost, type LossReports, type RedisAddress, type RedisStores } from './index.ts';

const { ask, created, engage, moved, somebody } = samples;
/** Timeouts long enough for a busy machine. */
const patient = { commandTimeoutMs: 100_000, startTimeoutMs: 100_000 };
const OTHER = { deployment: 'dp_of-somebody-else', epoch: 1 };

const server = await startRedis({ args: ['--auto-aof-rewrite-percentage', '0'] });
const redis = new Redis(server.url);
afterAll(async () => {
  redis.disconnect();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await redis.flushall();
});

const reports = () => ({
  onDeployment: vi.fn<NonNullable<LossReports['onDeployment']>>(),
  onLoss: vi.fn<NonNullable<LossReports['onLoss']>>(),
  onAccepted: vi.fn<NonNullable<LossReports['onAccepted']>>(),
  onRolledBack: vi.fn<NonNullable<LossReports['onRolledBack']>>(),
});

async function startWatched(
  options: { readonly deployment?: string; readonly watchMs?: number } = {},
  address: RedisAddress = server,
) {
  const reported = reports();
  const { watchMs = 60_000, ...pinned } = options;
  const stores = await createRedisStores({ ...address, ...patient, watchMs, lossWatch: { ...pinned, ...reported } });
  return { ...reported, stores, [Symbol.asyncDispose]: () => stores.close() };
}

/** Accepts a loss like an operator: over a connection without a watch. */
async function accept(deployment: string, p: { all?: boolean; epoch?: number } = {}, address: RedisAddress = server) {
  await using operator = await createRedisStores({ ...address, ...patient });
  const found = await operator.epochs.inspect();
  const shards = SHARDS.filter(shard => p.all === true || found.get(shard)?.epoch === undefined);
  await operator.epochs.begin({ deployment, epoch: p.epoch ?? Date.now() + 1 }, shards, { replaces: p.all ?? false });
  return shards;
}

const isReady = (stores: RedisStores) =>
  stores.ping().then(
    () => 'ready',
    (error: unknown) => (isDataLost(error) ? 'lost' : 'unavailable'),
  );
const untilIs = (stores: RedisStores, verdict: Awaited<ReturnType<typeof isReady>>) =>
  expect.poll(() => isReady(stores), { interval: 100 }).toBe(verdict);
const deploymentOf = ({ onDeployment }: ReturnType<typeof reports>) => onDeployment.mock.calls[0]?.[0].deployment ?? '';
const epochsNow = () => redis.mget(SHARDS.map(shard => `postern:{${shard}}:epoch`));
const create = ({ elicitations }: RedisStores, subject = somebody()) => created(elicitations, ask(subject));
const untilServed = (stores: RedisStores) =>
  expect.poll(async () => (await create(stores).catch(() => undefined))?.status).toBe('pending');
const refused = async (stores: RedisStores) => {
  const error: unknown = await create(stores).catch((thrown: unknown) => thrown);
  expect(isDataLost(error)).toBe(true);
};

async function filesOf(of: RedisServer): Promise<string> {
  const [, directory = ''] = (await of.ask('CONFIG', 'GET', 'dir')).split('\n');
  return join(directory, 'appendonlydir');
}

describe('the first start', () => {
  test('the first start gives all shards one deployment, however many gateways start concurrently', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => startWatched()));
    try {
      const [value] = await epochsNow();
      expect(value).toMatch(/^dp_[\w-]{22} \d{13}$/);
      expect(new Set(await epochsNow())).toEqual(new Set([value]));
      const started = all.map(({ onDeployment }) => onDeployment.mock.calls[0]?.[0]);
      expect(new Set(started.map(each => each?.deployment))).toEqual(new Set([value?.split(' ')[0]]));
      expect(started.filter(each => each?.isNew)).toHaveLength(1);
      expect(await Promise.all(all.map(({ stores }) => isReady(stores)))).toEqual(all.map(() => 'ready'));
    } finally {
      await Promise.all(all.map(({ stores }) => stores.close()));
    }
  });

  test('the first start adopts the deployment of the first gateway, even if the first check did not see it', async () => {
    await using stores = await createRedisStores(server);
    const first = { deployment: 'dp_the-first-one', epoch: 1 };
    expect(await stores.epochs.found(first)).toEqual(first);
    expect(await stores.epochs.found(OTHER)).toEqual(first);
    expect(new Set(await epochsNow())).toEqual(new Set(['dp_the-first-one 1']));
  });

  test('the next gateway completes a first start that died halfway', async () => {
    await redis.set('postern:{00}:epoch', 'dp_of-the-dead 1795250405064 founding');
    await redis.set('postern:{07}:epoch', 'dp_of-the-dead 1795250405064');
    await using watched = await startWatched();
    expect(await isReady(watched.stores)).toBe('ready');
    expect(new Set(await epochsNow())).toEqual(new Set(['dp_of-the-dead 1795250405064']));
  });

  test('the first start adopts the records of a release without epochs', async () => {
    await using before = await createRedisStores(server);
    const { elicitationId } = await create(before);
    await using watched = await startWatched();
    expect(await watched.stores.elicitations.read(elicitationId)).toMatchObject({ status: 'pending' });
  });

  test('never founds a pinned deployment: the store refuses until the loss is accepted', async () => {
    await using watched = await startWatched({ deployment: 'dp_pinned-somewhere' });
    expect(await isReady(watched.stores)).toBe('lost');
    await refused(watched.stores);
    expect(watched.onLoss.mock.calls[0]?.[0]).toMatchObject({ deployment: 'dp_pinned-somewhere', missing: SHARDS });
    await accept('dp_pinned-somewhere');
    await untilIs(watched.stores, 'ready');
    await create(watched.stores);
  });

  test('does not treat a Redis with some epochs as a first start', async () => {
    await (await startWatched()).stores.close();
    await redis.del('postern:{7f}:epoch');
    await using watched = await startWatched();
    await refused(watched.stores);
    expect(watched.onLoss.mock.calls[0]?.[0]).toMatchObject({ missing: ['7f'], foreign: [], older: [] });
    expect(watched.onDeployment).not.toHaveBeenCalled();
  });
});

describe('a running store', () => {
  test('refuses everything once Redis is empty, and serves again after the loss is accepted', async () => {
    await using watched = await startWatched({ watchMs: 100 });
    const { stores } = watched;
    const { elicitationId } = await create(stores);
    await redis.flushall();
    await untilIs(stores, 'lost');
    await refused(stores);
    expect(isDataLost(await stores.elicitations.read(elicitationId).catch((error: unknown) => error))).toBe(true);
    const walk = stores.sealedRecords.walk().next();
    expect(isDataLost(await walk.catch((error: unknown) => error))).toBe(true);
    expect(await redis.dbsize()).toBe(0);
    expect(watched.onLoss.mock.calls.map(([loss]) => loss?.missing.length)).toEqual([256]);

    await accept(deploymentOf(watched));
    await untilIs(stores, 'ready');
    await create(stores);
    // A check may have run while the new epochs were being written.
    expect(watched.onLoss.mock.lastCall).toEqual([undefined]);
    expect(watched.onAccepted.mock.calls).toEqual([[{ deployment: deploymentOf(watched), shards: 256 }]]);
    expect(watched.onRolledBack).not.toHaveBeenCalled();
  });

  test('sends no command to a Redis that restarted without its file', async () => {
    await using own = await startRedis();
    await using watched = await startWatched({}, own);
    const files = await filesOf(own);
    await own.kill();
    await rm(files, { recursive: true });
    await own.restart();
    let isLost = false;
    while (!isLost) {
      isLost = isDataLost(await create(watched.stores).catch((error: unknown) => error));
      // Lets the event loop run, which the reconnect needs; earlier refusals need no turn.
      await nextTurn();
    }
    expect(await own.ask('DBSIZE')).toBe('0\n');
    expect(await isReady(watched.stores)).toBe('lost');
  });

  test('recovers when its own Redis is back', async () => {
    await using watched = await startWatched({ watchMs: 100 });
    const epochs = Object.fromEntries(
      (await epochsNow()).map((value, at) => [`postern:{${SHARDS[at]}}:epoch`, value ?? '']),
    );
    await redis.flushall();
    await untilIs(watched.stores, 'lost');
    await redis.mset(epochs);
    await untilIs(watched.stores, 'ready');
    expect(watched.onAccepted).not.toHaveBeenCalled();
  });

  test('refuses the Redis of another deployment, even a complete one', async () => {
    await using watched = await startWatched({ watchMs: 100 });
    await accept(OTHER.deployment, { all: true });
    await untilIs(watched.stores, 'lost');
    await refused(watched.stores);
    // A check may have run while the epochs were being replaced.
    await expect
      .poll(() => watched.onLoss.mock.lastCall?.[0])
      .toMatchObject({ foreign: SHARDS, missing: [], strangers: [OTHER.deployment] });
  });

  test('refuses a Redis from before an accepted loss', async () => {
    await using watched = await startWatched({ watchMs: 100 });
    await accept(deploymentOf(watched), { all: true, epoch: 1_000 });
    await untilIs(watched.stores, 'lost');
    await expect
      .poll(() => watched.onLoss.mock.lastCall?.[0])
      .toMatchObject({ missing: [], foreign: [], older: SHARDS });
    await accept(deploymentOf(watched), { all: true });
    await untilIs(watched.stores, 'ready');
  });
});

// What is new of a cluster is that nodes fail one by one: the short run starts no cluster for it.
if (!isShortRun)
  test('notices a cluster master that restarts empty, and accepting the loss starts new epochs only in its shards', async () => {
    await using cluster = await startRedisCluster();
    const address = { nodes: cluster.urls };
    await using watched = await startWatched({ watchMs: 200 }, address);
    const { stores } = watched;
    const [node] = cluster.nodes;
    if (node === undefined) throw new Error('no node');
    const before = await stores.epochs.inspect();
    const files = await filesOf(node);
    await node.kill();
    await rm(files, { recursive: true });
    await node.restart();
    await untilIs(stores, 'lost');
    const found = await stores.epochs.inspect();
    const lost = SHARDS.filter(shard => found.get(shard)?.epoch === undefined);
    const count = lost.length;
    expect(count).toBeGreaterThan(50);
    expect(count).toBeLessThan(120);
    await refused(stores);

    // Nodes that get too little processor time may briefly consider each other down.
    const epoch = Date.now() + 1;
    await vi.waitFor(() => accept(deploymentOf(watched), { epoch }, address), { timeout: 100_000 });
    await untilIs(stores, 'ready');
    await create(stores);
    const after = await stores.epochs.inspect();
    const changed = SHARDS.filter(shard => after.get(shard)?.epoch?.epoch !== before.get(shard)?.epoch?.epoch);
    expect(changed).toEqual(lost);
    expect(watched.onAccepted.mock.calls).toEqual([[{ deployment: deploymentOf(watched), shards: count }]]);
  });

test('accepting a loss never touches a shard that has an epoch', async () => {
  await (await startWatched()).stores.close();
  await redis.del('postern:{7f}:epoch');
  const before = await epochsNow();
  await using operator = await createRedisStores(server);
  await operator.epochs.begin({ deployment: 'dp_of-the-operator', epoch: 5 }, SHARDS, { replaces: false });
  expect(await epochsNow()).toEqual(before.map(value => value ?? 'dp_of-the-operator 5'));
});

describe('a Redis that went back to an earlier state', () => {
  /** Commits, and then restarts Redis with the file as it was before. */
  async function rolledBack<T>(
    prepare: (stores: RedisStores) => Promise<T>,
    commit: (stores: RedisStores, prepared: T) => Promise<unknown>,
  ) {
    await using own = await startRedis();
    await using watched = await startWatched({}, own);
    const { stores } = watched;
    const prepared = await prepare(stores);
    const files = await filesOf(own);
    await cp(files, `${files}.before`, { recursive: true });
    await commit(stores, prepared);
    await own.kill();
    await rm(files, { recursive: true });
    await cp(`${files}.before`, files, { recursive: true });
    await own.restart();
    await untilIs(stores, 'ready');
    // After every reconnect, no command is sent before a check.
    for (let nth = 0; nth < 2; nth += 1) {
      await untilServed(stores);
      await own.ask('CLIENT', 'KILL', 'TYPE', 'normal');
    }
    await untilServed(stores);
    return watched.onRolledBack.mock.calls.map(([found]) => found);
  }

  function subjectIn(shard: Shard) {
    for (;;) {
      const subject = somebody();
      if (shardOf(subject) === shard) return subject;
    }
  }

  test('reports a rollback once with its shards, and keeps using Redis', async () => {
    const reported = await rolledBack(
      stores => create(stores, subjectIn('7f' as Shard)),
      (stores, pending) => moved(stores.elicitations, pending, engage),
    );
    expect(reported).toEqual([{ shards: ['7f'], backMs: expect.any(Number) }]);
    expect(reported[0]?.backMs).toBeGreaterThanOrEqual(0);
  });

  test('also reports a rollback of the first event of a shard', async () => {
    expect(
      await rolledBack(
        async () => undefined,
        stores => create(stores, subjectIn('07' as Shard)),
      ),
    ).toMatchObject([{ shards: ['07'] }]);
  });

  test('reports no rollback if nothing was lost, however many entries were carried and dropped', async () => {
    await using own = await startRedis();
    await using watched = await startWatched({}, own);
    await using other = await createRedisStores(own);
    const shard = '7f' as Shard;
    const { stores } = watched;
    await create(stores, subjectIn(shard));
    // Redis drops whole blocks of a hundred.
    await Promise.all(Array.from({ length: 260 }, () => create(other, subjectIn(shard))));
    const { entries } = await other.outbox.read(shard, { after: undefined, limit: 1_000 });
    await other.outbox.moveCursor(shard, entries.at(-1)?.position ?? '');
    expect((await other.outbox.read(shard, { after: undefined, limit: 1_000 })).entries.length).toBeLessThan(261);
    await own.kill();
    await own.restart();
    await untilIs(stores, 'ready');
    await create(stores);
    expect(watched.onRolledBack).not.toHaveBeenCalled();
  });
});
