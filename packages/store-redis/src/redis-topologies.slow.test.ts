import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { type ElicitationId, shardIn } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { describeElicitationStore, describeRefresh, FEED_RETENTION, samples } from '@postern/testkit/contract';
import {
  createRedisTls,
  type RedisAccess,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '@postern/testkit/redis';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createRedisStores, type RedisAddress, type RedisStores, type RedisStoresOptions } from './index.ts';

const { ask, complete, created, engage, moved, operation, somebody } = samples;

/** Limit that only turns a hang into a failure. */
const PATIENCE_MS = 120_000;

/** The users that operators are shown, with all their permissions. Each test has a separate prefix and a measured clock. */
const shown = readFileSync(new URL('../../../infra/redis/users.acl', import.meta.url), 'utf8');
const access: RedisAccess = {
  lines: shown
    .split('\n')
    .filter(line => line.startsWith('user '))
    .map(line => line.replace(/\$\{\w+\}/, 'test-password').replaceAll('postern:', 'suite-*:')),
  user: { name: 'postern', password: 'test-password' },
  replica: { name: 'replica', password: 'test-password' },
  sentinel: { name: 'sentinel', password: 'test-password' },
};
const sentinelAccess: RedisAccess = {
  lines: [
    'user asker on >asker-password &+switch-master -@all +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe +ping +client|setname',
  ],
  user: { name: 'asker', password: 'asker-password' },
};

const tls = await createRedisTls();
/** Silence after which a node counts as failed. Long enough that load alone never causes a fail-over. */
const SILENCE_MS = 30_000;
const [sentinel, cluster] = await Promise.all([
  startRedisSentinel({ tls, access, sentinelAccess, replicas: 2, downAfterMs: SILENCE_MS }),
  startRedisCluster({ tls, access, replicasPerMaster: 1, nodeTimeoutMs: SILENCE_MS }),
]);
afterAll(async () => {
  await Promise.all([sentinel[Symbol.asyncDispose](), cluster[Symbol.asyncDispose]()]);
  await tls[Symbol.asyncDispose]();
});

const secured = { tls: { ca: tls.ca.pem, cert: tls.cert.pem, key: tls.key.pem } };
const addresses = {
  sentinel: {
    sentinels: sentinel.sentinelUrls,
    masterName: sentinel.masterName,
    username: access.user.name,
    password: access.user.password,
  },
  cluster: { nodes: cluster.urls },
} as const satisfies Record<string, RedisAddress>;
type Topology = keyof typeof addresses;
const topologies = ['sentinel', 'cluster'] as const;

let prefixes = 0;
function open(topology: Topology, options: Partial<RedisStoresOptions> = {}): Promise<RedisStores> {
  prefixes += 1;
  return createRedisStores({
    ...addresses[topology],
    ...secured,
    // Longer than any step, so that the reply of a replica decides and not the load of the machine.
    durability: { profile: 'ha', timeoutMs: 30_000 },
    prefix: `suite-${prefixes}`,
    ...options,
  });
}

describe.each(topologies)('%s with TLS and users, profile ha', topology => {
  const makeStores = async () => {
    const clock = createFakeClock();
    const stores = await open(topology, { now: clock.now, feed: FEED_RETENTION });
    return { ...stores, clock };
  };
  describeElicitationStore(topology, makeStores);
  describeRefresh(topology, makeStores);
});

// Concurrent, because each start fails only after its timeout.
describe.concurrent('TLS', () => {
  test.each(topologies)('%s: refuses a certificate for another name', async topology => {
    const start = open(topology, { tls: { ...secured.tls, servername: 'elsewhere.example' }, startTimeoutMs: 4_000 });
    await expect(start).rejects.toMatchObject({ name: 'StoreUnavailableError', cause: { code: 'tls' } });
  });

  test.each(topologies)('%s: refuses a certificate of an unknown authority', async topology => {
    const { ca: _, ...unknown } = secured.tls;
    const start = open(topology, { tls: unknown, startTimeoutMs: 4_000 });
    await expect(start).rejects.toMatchObject({ name: 'StoreUnavailableError', cause: { code: 'tls' } });
  });

  test('accepts the configured name if the certificate does not name the address', async () => {
    await using stores = await open('sentinel', { tls: { ...secured.tls, servername: 'localhost' } });
    await stores.ping();
  });

  test('reports a wrong password without quoting it', async () => {
    const start = createRedisStores({
      ...addresses.sentinel,
      ...secured,
      password: 'wrong-password',
      startTimeoutMs: 4_000,
    });
    const error: unknown = await start.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'StoreUnavailableError', cause: { code: 'WRONGPASS' } });
    expect(inspect(error)).not.toMatch(/password/);
  });

  test('reports a master that no Sentinel knows', async () => {
    const start = createRedisStores({ ...addresses.sentinel, ...secured, masterName: 'other', startTimeoutMs: 4_000 });
    await expect(start).rejects.toMatchObject({ name: 'StoreUnavailableError', cause: { code: 'no_sentinel' } });
  });
});

/** Repeats an idempotent step until the store is available again. */
async function patiently<T>(step: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS / 2;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StoreUnavailableError' || performance.now() > until) throw error;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }
}

const failovers: Record<Topology, (stores: RedisStores) => Promise<void>> = {
  async sentinel() {
    const before = await sentinel.masterNow();
    await before.kill();
    await sentinel.failover();
    await sentinel.untilReplicas(1);
    await before.restart();
  },
  async cluster() {
    const [before] = await cluster.mastersNow();
    if (before === undefined) throw new Error('no master');
    const [successor] = await cluster.replicasOf(before);
    await before.kill();
    await successor?.ask('CLUSTER', 'FAILOVER', 'TAKEOVER');
    await cluster.untilMasterIsNot(before);
    await before.restart();
  },
};

describe.each(topologies)('%s, a master is killed under many writes', topology => {
  test(
    'no acknowledged write is lost, none is executed twice, and wake-ups come from the new master',
    async () => {
      await using stores = await open(topology);
      const acknowledged: { id: ElicitationId; version: number }[] = [];
      let isOver = false;
      const people = Array.from({ length: 8 }, async () => {
        // One complete round after the fail-over, however slow the machine is.
        for (let isLast = false; !isLast; ) {
          isLast = isOver;
          const request = ask(somebody());
          const first = await patiently(() => stores.elicitations.create(request));
          if (first.result !== 'created') throw new Error(first.result);
          const { elicitation } = first;
          acknowledged.push({ id: elicitation.elicitationId, version: 1 });
          const engaged = { current: elicitation, operationId: operation(), ...engage };
          const active = await patiently(() => stores.elicitations.transition(engaged));
          if (active.result !== 'applied') throw new Error(active.result);
          const ended = { current: active.elicitation, operationId: operation(), ...complete(active.elicitation) };
          const last = await patiently(() => stores.elicitations.transition(ended));
          expect(last).toMatchObject({ result: 'applied', elicitation: { version: 3 } });
          acknowledged.push({ id: elicitation.elicitationId, version: 3 });
        }
      });
      await vi.waitUntil(() => acknowledged.length >= people.length, { timeout: PATIENCE_MS });
      await failovers[topology](stores);
      isOver = true;
      await Promise.all(people);

      const versions = new Map(acknowledged.map(({ id, version }) => [id, version]));
      expect(versions.size).toBeGreaterThan(people.length);
      for (const [shard, own] of Map.groupBy(versions, ([id]) => shardIn(id))) {
        const logged = await stores.events.read(shard, { limit: 10_000 });
        for (const [id, version] of own) {
          expect(await stores.elicitations.read(id)).toMatchObject({ version });
          expect(logged.filter(({ event }) => event.elicitationId === id)).toHaveLength(version);
        }
      }
      const current = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
      using watch = stores.notifier.watch(current.elicitationId);
      await moved(stores.elicitations, current, complete(current));
      await watch.next(PATIENCE_MS);
      expect(await stores.elicitations.read(current.elicitationId)).toMatchObject({ status: 'completed' });
      await patiently(() => stores.ping());
    },
    PATIENCE_MS,
  );
});

describe('a server that is made a replica at run time', () => {
  test('a server demoted at run time refuses, loses its connections, and serves again after its promotion', async () => {
    await using other = await startRedis();
    await using redis: RedisServer = await startRedis();
    await using stores = await createRedisStores({ url: redis.url });
    await created(stores.elicitations, ask(somebody()));
    await redis.ask('REPLICAOF', other.host, String(other.port));
    const request = ask(somebody());
    await expect(stores.elicitations.create(request)).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      cause: { code: 'READONLY' },
    });
    await redis.ask('REPLICAOF', 'NO', 'ONE');
    expect(await patiently(() => stores.elicitations.create(request))).toMatchObject({ result: 'created' });
  });
});
