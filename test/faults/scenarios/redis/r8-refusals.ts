import assert from 'node:assert/strict';
import { type RedisServer, startRedis, startRedisCluster } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { startTraffic, type Traffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, note, startPair, unavailableAnswers } from './common.ts';

/** A Redis that loads slowly (microseconds per command of the file) and responds while loading, after this many bytes. */
const LOAD_DELAY = ['--key-load-delay', '3000', '--loading-process-events-interval-bytes', '1024'];

interface Condition {
  readonly code: string;
  readonly begin: (redis: RedisServer) => Promise<unknown>;
  readonly end: (redis: RedisServer) => Promise<unknown>;
}

const conditions: readonly Condition[] = [
  {
    code: 'OOM',
    begin: redis => redis.ask('CONFIG', 'SET', 'maxmemory', '1'),
    end: redis => redis.ask('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    code: 'READONLY',
    // There is no replica, so Redis keeps its data and waits.
    begin: redis => redis.ask('REPLICAOF', '127.0.0.1', '1'),
    end: redis => redis.ask('REPLICAOF', 'NO', 'ONE'),
  },
  {
    code: 'NOREPLICAS',
    begin: redis => redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    end: redis => redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '0'),
  },
];

const refusing: Scenario = {
  item: 'R8',
  name: 'OOM, READONLY, NOREPLICAS and LOADING: 503, never a false success, then recovery',
  async run(run) {
    const redis = run.stack.use(await startRedis({ args: [...LOAD_DELAY, '--appendfsync', 'always'] }));
    const { world, addresses } = await startPair(run, { url: redis.url });
    const traffic = await startTraffic(run, { world, attempts: 30 });
    await traffic.more(6);
    for (const { code, begin, end } of conditions) {
      note(run, code);
      const before = unavailableAnswers(run);
      await begin(redis);
      await until(`answers 503 to ${code}`, () => unavailableAnswers(run) > before + 2);
      const refusals = await errorsOf(redis, code);
      assert.ok(refusals > 0, `Redis never answered ${code}`);
      await end(redis);
      note(run, `no more ${code}`);
      await expectRecovered(run, addresses, `ready after ${code}`);
      await traffic.more(3);
    }
    await loading(run, redis, addresses, traffic);
    await traffic.settle();
    expectOnlyUnavailable(run);
  },
};

async function loading(
  run: FaultRun,
  redis: RedisServer,
  addresses: readonly string[],
  traffic: Traffic,
): Promise<void> {
  let isRefused = false;
  // Redis may have finished loading before a request arrived. Then try once more.
  for (let attempt = 1; attempt <= 20 && !isRefused; attempt += 1) {
    note(run, 'LOADING');
    await redis.kill();
    let isLoaded = false;
    const restarted = redis.restart().then(() => {
      isLoaded = true;
    });
    await until(
      'Redis loads its data',
      async () => isLoaded || (await redis.ask('INFO', 'persistence')).includes('loading:1'),
    );
    const before = unavailableAnswers(run);
    await until('answers 503 to LOADING', () => isLoaded || unavailableAnswers(run) > before);
    isRefused = unavailableAnswers(run) > before;
    await restarted;
    note(run, 'loaded');
    await expectRecovered(run, addresses, 'ready after LOADING');
    await traffic.more(3);
  }
  assert.ok(isRefused, 'no request reached Redis while it was loading');
}

/** Number of responses of Redis with this error. */
async function errorsOf(redis: RedisServer, code: string): Promise<number> {
  const stats = await redis.ask('INFO', 'errorstats');
  return Number(new RegExp(`^errorstat_${code}:count=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

const forgotten: Scenario = {
  item: 'R8',
  name: 'repeated SCRIPT FLUSH: every script is sent again without a visible effect',
  async run(run) {
    const redis = run.stack.use(await startRedis());
    const { world } = await startPair(run, { url: redis.url });
    const traffic = await startTraffic(run, { world });
    await traffic.more(4);
    for (let n = 0; n < (run.isLong ? 40 : 8); n += 1) {
      note(run, 'scripts forgotten');
      await redis.ask('SCRIPT', 'FLUSH', 'SYNC');
      await traffic.more(1);
    }
    assert.ok((await errorsOf(redis, 'NOSCRIPT')) > 0, 'no script was missing');
    await traffic.settle();
    // On a busy machine a command may time out for other reasons.
    if (run.isTimed) assert.equal(unavailableAnswers(run), 0);
    expectOnlyUnavailable(run);
  },
};

/** Names of the hash tags of the shards. */
const TAGS = Array.from({ length: 256 }, (_, shard) => `{${shard.toString(16).padStart(2, '0')}}`);

const moving: Scenario = {
  item: 'R8',
  name: 'MOVED, ASK and TRYAGAIN during slot migration under load end in 503 or at the right node',
  async run(run) {
    const redis = run.stack.use(await startRedisCluster());
    const { world, addresses } = await startPair(run, { cluster: [...redis.urls] });
    const traffic = await startTraffic(run, { world, attempts: 30 });
    await traffic.more(6);
    const [from, to] = redis.nodes;
    if (from === undefined || to === undefined) throw new TypeError('a cluster of one');
    let moved = 0;
    // One connection per node: a redis-cli process for each step would take longer than the step.
    using connections = connectedTo([from, to]);
    const [source, target] = connections.nodes;
    if (source === undefined || target === undefined) throw new TypeError('a cluster of one');
    const ids = { source: await source.call('CLUSTER', 'MYID'), target: await target.call('CLUSTER', 'MYID') };
    for (const tag of TAGS) {
      const slot = await source.cluster('KEYSLOT', tag);
      if ((await source.cluster('COUNTKEYSINSLOT', slot)) === 0) continue;
      await moveSlot({ from: source, to: target, at: to, ids }, slot);
      moved += 1;
    }
    note(run, `${moved} slots moved`);
    run.measure('slots moved', moved, '');
    await expectRecovered(run, addresses);
    await traffic.more(4);
    await traffic.settle();
    expectOnlyUnavailable(run);
    const codes = ['MOVED', 'ASK', 'TRYAGAIN'];
    const counts = await Promise.all(redis.nodes.flatMap(node => codes.map(code => errorsOf(node, code))));
    assert.ok(
      counts.some(count => count > 0),
      'no request used a moving slot',
    );
  },
};

function connectedTo(nodes: readonly RedisServer[]): Disposable & { readonly nodes: readonly Redis[] } {
  const connections = nodes.map(({ url }) => new Redis(url));
  return {
    nodes: connections,
    [Symbol.dispose]() {
      for (const connection of connections) connection.disconnect();
    },
  };
}

interface Move {
  readonly from: Redis;
  readonly to: Redis;
  /** Address of `to`. */
  readonly at: RedisServer;
  readonly ids: { readonly source: unknown; readonly target: unknown };
}

/** Moves one slot at a time, like redis-cli --cluster reshard. */
async function moveSlot({ from, to, at, ids }: Move, slot: number): Promise<void> {
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(ids.source));
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(ids.target));
  for (;;) {
    const keys = await from.cluster('GETKEYSINSLOT', slot, 100);
    if (keys.length === 0) break;
    await from.call('MIGRATE', at.host, String(at.port), '', '0', '2000', 'KEYS', ...keys);
  }
  for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(ids.target));
}

export const refusals: readonly Scenario[] = [refusing, forgotten, moving];
