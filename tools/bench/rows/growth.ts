import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { figures } from '../support/figures.ts';
import { apiHeaders, type GatewayProcess, newSubject, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { flushRecords, issue, issueOnce, lastingAsk } from '../support/issuing.ts';
import { redisCpuMs } from '../support/redis-cpu.ts';
import { replay } from '../support/replay.ts';
import { compared, type Row } from '../support/row.ts';
import { cancelAll, connectAll } from '../support/seeds.ts';
import { interleave, median, type Pairs } from '../support/statistics.ts';
import { countBytes, LISTS, type List, listBytes, untilAnnounced } from '../support/stored.ts';
import type { Sweep } from '../support/sweep.ts';

const LEAST = 1_000;
const CONNECTIONS = 64;
/** Elicitations issued in one run: few compared with the smallest size, and enough for the resolution of the processor clock. */
const ISSUED = 4_000;
/** Enough that lists of a shard exceed 128 entries: beyond that, Redis keeps them in the larger form that large deployments have. */
const USERS = 40_000;
/** Bytes of an operators' list for each entry. */
const LIST_BYTES = 200;
const grouped = (count: number) => count.toLocaleString('en-GB');

/** Cost of one more elicitation with a thousand and with a million open ones, each of a different subject. */
export async function growthRows(bench: Bench): Promise<(Row | Sweep)[]> {
  const sizes = bench.quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000];
  await using few = await openWorld(bench);
  await using many = await openWorld(bench);
  const sweep: Measured[][] = [];
  const memory: number[] = [];
  let listed = 0;
  const pairs: Pairs<Measured>[] = [];
  for (const live of sizes) {
    await many.growTo(live);
    memory.push(await many.bytesEach());
    listed = ((await listBytes(many.redis, LISTS)) + (await countBytes(many.redis))) / live;
    const pair = await interleave(
      bench,
      () => measure(many, bench.samples),
      async () => {
        await few.clear();
        await few.growTo(LEAST);
        return measure(few, bench.samples);
      },
    );
    pairs.push(pair);
    if (sweep.length === 0) sweep.push([...pair.baseline]);
    sweep.push([...pair.ours]);
  }
  await few.clear();
  await few.growTo(LEAST);
  const kilobytes = [await few.bytesEach(), ...memory].map(bytes => bytes / 1000);
  const user = await few.bytesOfUser();
  const ended = await few.bytesOfEnded();
  const [most = LEAST] = sizes.slice(-1);
  return [
    ...comparedRows(most, pairs.at(-1) ?? { ours: [], baseline: [] }),
    memoryRow(`Redis memory of a live elicitation at ${grouped(most)}`, kilobytes.slice(-1), 1.3),
    memoryRow(`  at ${grouped(LEAST)}`, kilobytes.slice(0, 1)),
    listRow(`  of which what lists and counts of operators read, at ${grouped(most)}`, listed),
    memoryRow(figures.connected, [user.each / 1000]),
    listRow('  of which the place of the connection in its list', user.connected),
    listRow('  of which the place of the ended elicitation in its list', user.ended),
    memoryRow(figures.ended, [ended.each / 1000]),
    listRow('  of which its place in the list', ended.ended),
    {
      name: 'growth',
      title: 'What an elicitation costs by how many are live',
      x: { label: 'live elicitations', values: [LEAST, ...sizes] },
      series: [
        { label: 'issue, gateway', unit: 'µs of processor time', samples: seriesOf(sweep, 'gatewayCpu') },
        { label: 'issue, Redis', unit: 'µs of processor time', samples: seriesOf(sweep, 'redisCpu') },
        { label: 'read, p50', unit: 'ms', samples: seriesOf(sweep, 'readMs') },
        {
          label: 'Redis memory each',
          unit: 'kB',
          samples: kilobytes.map(each => [each]),
          target: { bound: 'at most', value: 1.3 },
        },
      ],
    },
  ];
}

function comparedRows(most: number, pair: Pairs<Measured>): Row[] {
  const name = `at ${grouped(LEAST)}`;
  const of = (pick: (measured: Measured) => number): Pairs<number> => ({
    ours: pair.ours.map(pick),
    baseline: pair.baseline.map(pick),
  });
  const cpu = of(({ gatewayCpu, redisCpu }) => gatewayCpu + redisCpu);
  const target = { bound: 'at most', value: 1.1, profile: 'growth' } as const;
  return [
    compared(`issue at ${grouped(most)} live, processor time of gateway and Redis`, 'µs each', name, cpu, target),
    compared(
      '  of which Redis',
      'µs each',
      name,
      of(measured => measured.redisCpu),
    ),
    compared(
      '  its rate',
      'requests/s',
      name,
      of(measured => measured.perSecond),
    ),
    compared(
      '  reading one, p50',
      'ms',
      name,
      of(measured => measured.readMs),
    ),
  ];
}

const memoryRow = (figure: string, ours: readonly number[], most?: number): Row => ({
  figure,
  unit: 'kB',
  ours,
  ...(most === undefined ? {} : { target: { bound: 'at most', value: most, profile: 'redis-memory' } }),
});

/** What the lists of operators cost in Redis, for each record. */
const listRow = (figure: string, bytes: number): Row => ({
  figure,
  unit: 'bytes',
  ours: [bytes],
  target: { bound: 'at most', value: LIST_BYTES, profile: 'redis-memory' },
});

const seriesOf = (sweep: readonly Measured[][], name: keyof Measured) => sweep.map(runs => runs.map(run => run[name]));

interface World extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly redis: Redis;
  /** Live elicitations. A caller that issues more must add them. */
  live: number;
  growTo(live: number): Promise<void>;
  clear(): Promise<void>;
  /** Bytes of Redis per elicitation, including indexes, limit and event, once all events are announced. */
  bytesEach(): Promise<number>;
  /** Bytes of Redis per user who has connected one account. Empties Redis first. */
  bytesOfUser(): Promise<Stored<'connected' | 'ended'>>;
  /** Bytes of Redis per elicitation that was cancelled and is kept for the retention. Empties Redis first. */
  bytesOfEnded(): Promise<Stored<'ended'>>;
}

/** Bytes per user or elicitation, and those of them that are its places in lists. */
type Stored<Name extends List> = { readonly each: number } & Readonly<Record<Name, number>>;

async function openWorld(bench: Bench): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startRedis(redisOptions));
  const vaultKey = newVaultKey();
  const gateway = stack.use(await startGatewayProcess({ ...bench, redisUrl: server.url, vaultKey }));
  const redis = stack.adopt(new Redis(server.url), each => each.disconnect());
  await issueOnce(gateway, lastingAsk);
  // Start MONITOR while there is no other traffic.
  await untilAnnounced(redis);
  const command = await captureCommand(server.url, () => issueOnce(gateway, lastingAsk));
  const empty = await emptied(redis);
  const held = stack.move();
  const inList = async (list: List) => (await listBytes(redis, [list])) / USERS;
  const world: World = {
    gateway,
    redis,
    live: 0,
    async growTo(live) {
      await replay(server.url, live - world.live, () => [command]);
      world.live = live;
      await untilAnnounced(redis);
    },
    async clear() {
      await emptied(redis);
      world.live = 0;
    },
    bytesEach: async () => ((await untilAnnounced(redis)) - empty) / world.live,
    async bytesOfUser() {
      await world.clear();
      await connectAll(server.url, vaultKey, USERS);
      const each = ((await untilAnnounced(redis)) - empty) / USERS;
      return { each, connected: await inList('connected'), ended: await inList('ended') };
    },
    async bytesOfEnded() {
      await world.clear();
      await cancelAll(server.url, USERS);
      const each = ((await untilAnnounced(redis)) - empty) / USERS;
      return { each, ended: await inList('ended') };
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
  return world;
}

/** Memory without records: scripts, connections. */
async function emptied(redis: Redis): Promise<number> {
  await untilAnnounced(redis);
  await flushRecords(redis);
  return untilAnnounced(redis);
}

interface Measured {
  readonly perSecond: number;
  /** Microseconds of processor time per issued elicitation. */
  readonly gatewayCpu: number;
  readonly redisCpu: number;
  /** Median time of a read over HTTP, in milliseconds. */
  readonly readMs: number;
}

async function measure(world: World, samples: number): Promise<Measured> {
  const { gateway, redis } = world;
  const [gatewayBefore, redisBefore, startedAt] = [gateway.child.cpuMs(), await redisCpuMs(redis), performance.now()];
  let left = ISSUED;
  const ids = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      using connection = await HttpConnection.open(gateway.port);
      let id = '';
      for (; left > 0; left -= 1) id = await issue(gateway.port, connection, lastingAsk(newSubject()));
      return id;
    }),
  );
  const tookMs = performance.now() - startedAt;
  const gatewayMs = gateway.child.cpuMs() - gatewayBefore;
  const redisMs = (await redisCpuMs(redis)) - redisBefore;
  world.live += ISSUED;
  return {
    perSecond: (ISSUED / tookMs) * 1000,
    gatewayCpu: (gatewayMs / ISSUED) * 1000,
    redisCpu: (redisMs / ISSUED) * 1000,
    readMs: await readingMs(
      gateway,
      ids.filter(id => id !== ''),
      samples,
    ),
  };
}

async function readingMs({ port }: GatewayProcess, ids: readonly string[], samples: number): Promise<number> {
  using connection = await HttpConnection.open(port);
  const took: number[] = [];
  for (let nth = 0; nth < samples; nth += 1) {
    const path = `/v1/elicitations/${ids[nth % ids.length]}`;
    const startedAt = performance.now();
    const { status } = await connection.request(httpRequest('GET', path, port, apiHeaders));
    if (status !== 200) throw new Error(`reading was answered with ${status}`);
    took.push(performance.now() - startedAt);
  }
  return median(took);
}
