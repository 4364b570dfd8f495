import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort } from '@postern/testkit/processes';
import { startRedis } from '@postern/testkit/redis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type InsideReport, insideReportSchema } from '../children/inside.ts';
import { machineNow, type WaiterCommand, type WaiterReport, waiterReportSchema } from '../children/waiters.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { type Child, readiness, root, startChild } from '../support/child.ts';
import {
  apiHeaders,
  askBody,
  type GatewayProcess,
  newSubject,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { flush, issue } from '../support/issuing.ts';
import { load } from '../support/load.ts';
import { compared, type Row } from '../support/row.ts';
import { type Rounds, rounds } from '../support/statistics.ts';
import type { Sweep } from '../support/sweep.ts';

const SIZES = [1, 100, 1_000, 10_000];
const KIB = 1024;
/** Maximum wait of a read, in seconds; a run at the largest size is shorter. */
const WAIT_SECONDS = 55;
/** Pause until memory of connecting is returned to the system, in ms, and number of checks. */
const SETTLE_MS = 500;
const LOOKS = 12;
/** Each run uses four processes. */
const MEMORY_RUNS = 3;
const INSIDE = pathToFileURL(`${root}/tools/bench/children/inside.ts`).href;
const headerLines = `authorization: ${apiHeaders['authorization']}\r\n`;

interface Run {
  readonly issuedWith: number;
  readonly issuedWithout: number;
  /** From the request that ends an elicitation to the response of its waiter, in ms. */
  readonly answeredMs: readonly number[];
  readonly loopDelayP99: number;
}

/** One gateway process with a growing number of waiting callers. */
export async function waiterRows(bench: Bench): Promise<(Row | Sweep)[]> {
  const sizes = bench.quick ? SIZES.slice(0, -1) : SIZES;
  await using redis = await startRedis(redisOptions);
  const vaultKey = newVaultKey();
  const env = { NODE_OPTIONS: `--import=${INSIDE}` };
  const startGateway = () => startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey, env });
  await using crowd = await startCrowd();
  const bySize = new Map<number, Run[]>(sizes.map(size => [size, []]));
  {
    await using gateway = await startGateway();
    // The first run is a warm-up.
    for (const run of rounds(bench, -1)) {
      for (const size of sizes) {
        await flush(redis.url);
        const measured = await waitingReads({ bench, gateway, crowd }, size);
        if (run >= 0) bySize.get(size)?.push(measured);
      }
    }
  }
  const held = await heldMemory({ bench, crowd, redisUrl: redis.url, startGateway }, sizes.at(-1) ?? 0);
  const most = sizes.at(-1) ?? 0;
  const atMost = bySize.get(most) ?? [];
  const many = most.toLocaleString('en');
  const all = (pick: (run: Run) => number) => sizes.map(size => (bySize.get(size) ?? []).map(pick));
  return [
    memoryRow(`memory of a waiting read, ${many} on one process`, held.wait, held.bareWait),
    memoryRow(`memory of an event stream, ${many} on one process`, held.events, held.bareEvents),
    compared(
      `issue while ${many} reads wait`,
      'requests/s',
      'no waiters',
      { ours: atMost.map(({ issuedWith }) => issuedWith), baseline: atMost.map(each => each.issuedWithout) },
      { bound: 'at least', value: 0.85, profile: 'waiters' },
    ),
    { figure: `end → its waiter answered, ${many} waiting, p50`, unit: 'ms', ours: atMost.map(p(0.5)) },
    { figure: '  p99', unit: 'ms', ours: atMost.map(p(0.99)) },
    { figure: '  event-loop delay meanwhile, p99', unit: 'ms', ours: atMost.map(each => each.loopDelayP99) },
    {
      name: 'waiters',
      title: 'Reads that wait on one process',
      x: { label: 'waiting reads', values: sizes },
      series: [
        { label: 'issued while they wait', unit: 'requests/s', samples: all(each => each.issuedWith) },
        { label: 'issued without waiters', unit: 'requests/s', samples: all(each => each.issuedWithout) },
        { label: 'end → answered, p50', unit: 'ms', samples: all(p(0.5)) },
        { label: 'end → answered, p99', unit: 'ms', samples: all(p(0.99)) },
        { label: 'event-loop delay, p99', unit: 'ms', samples: all(each => each.loopDelayP99) },
      ],
    },
  ];
}

const memoryRow = (figure: string, ours: readonly number[], baseline: readonly number[]): Row =>
  compared(
    figure,
    'KiB',
    'bare server that answers none',
    { ours, baseline },
    { bound: 'at most', value: 0.75, profile: 'waiting-read' },
  );

function p(share: number) {
  return ({ answeredMs }: Run): number => {
    const sorted = answeredMs.toSorted((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  };
}

interface Parts {
  readonly bench: Bench;
  readonly gateway: GatewayProcess;
  readonly crowd: Crowd;
}

async function waitingReads({ bench, gateway, crowd }: Parts, size: number): Promise<Run> {
  const { child, port } = gateway;
  const seconds = size === SIZES.at(-1) ? bench.seconds : 1;
  const next = () => ({ path: '/v1/elicitations', body: askBody(newSubject()), headers: apiHeaders });
  const ids = await issueMany(port, size);
  const without = await load({ child, port, seconds, next });
  await crowd.hold(
    port,
    ids.map(id => `/v1/elicitations/${id}?wait=${WAIT_SECONDS}`),
  );
  // Starts the measurement of delays.
  await inside(child);
  const withThem = await load({ child, port, seconds, next });
  const answeredMs = await endSome(port, ids, crowd, Math.min(size, bench.samples));
  const { loopDelayP99 } = await inside(child);
  await crowd.release();
  return {
    issuedWith: withThem.perSecond,
    issuedWithout: without.perSecond,
    answeredMs,
    loopDelayP99,
  };
}

/** Ends elicitations one after the other and records when each waiter gets its response. */
async function endSome(port: number, ids: readonly string[], crowd: Crowd, samples: number): Promise<number[]> {
  using connection = await HttpConnection.open(port);
  const first = randomInt(ids.length - samples + 1);
  const times: number[] = [];
  for (let nth = first; nth < first + samples; nth += 1) {
    const answered = crowd.answerOf(nth);
    const sentAt = machineNow();
    const path = `/v1/elicitations/${ids[nth]}/cancel`;
    const { status } = await connection.request(httpRequest('POST', path, port, apiHeaders, '{}'));
    if (status !== 200) throw new Error(`cancelling was answered with ${status}`);
    times.push((await answered) - sentAt);
  }
  return times;
}

async function issueMany(port: number, count: number): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const work = async () => {
    using connection = await HttpConnection.open(port);
    while (begun < count) {
      begun += 1;
      ids.push(await issue(port, connection, askBody(newSubject())));
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, 32) }, work));
  return ids;
}

interface Held {
  readonly wait: number[];
  readonly events: number[];
  readonly bareWait: number[];
  readonly bareEvents: number[];
}

interface HeldParts {
  readonly bench: Rounds;
  readonly crowd: Crowd;
  readonly redisUrl: string;
  readonly startGateway: () => Promise<GatewayProcess>;
}

/**
 * Resident memory per held connection, in KiB. Uses a new process for each kind, because a process does not always return its memory, and
 * later connections would reuse it.
 */
async function heldMemory({ bench, crowd, redisUrl, startGateway }: HeldParts, count: number): Promise<Held> {
  const held: Held = { wait: [], events: [], bareWait: [], bareEvents: [] };
  await flush(redisUrl);
  async function ours(kind: 'wait' | 'events'): Promise<number> {
    await using gateway = await startGateway();
    // Read in the bare processes as well, so that all have done the same work.
    const ids = await issueMany(gateway.port, count);
    const pathOf = (id: string) => (kind === 'wait' ? `/v1/elicitations/${id}?wait=${WAIT_SECONDS}` : '/v1/events');
    return await grownBy(gateway.child, crowd, gateway.port, ids.map(pathOf));
  }
  async function bare(kind: 'wait' | 'events'): Promise<number> {
    const port = await freePort();
    await using child = startChild({
      module: 'tools/bench/children/held-requests.ts',
      args: [String(port), kind],
      env: { NODE_OPTIONS: `--import=${INSIDE}` },
    });
    await readiness(child);
    return await grownBy(child, crowd, port, new Array<string>(count).fill('/'));
  }
  for (const _ of rounds({ ...bench, runs: Math.min(bench.runs, MEMORY_RUNS) })) {
    held.wait.push(await ours('wait'));
    held.events.push(await ours('events'));
    held.bareWait.push(await bare('wait'));
    held.bareEvents.push(await bare('events'));
  }
  return held;
}

async function grownBy(child: Child, crowd: Crowd, port: number, paths: readonly string[]): Promise<number> {
  const before = await settled(child);
  await crowd.hold(port, paths);
  const during = await settled(child);
  await crowd.release();
  const used = ({ heapUsed, external }: InsideReport) => heapUsed + external;
  // Later connections may reuse pages that issuing has freed. Then the heap is a better measure than the resident set.
  return Math.max(during.rss - before.rss, used(during) - used(before)) / paths.length / KIB;
}

/** Resolves when the process returns no more memory to the system. */
async function settled(child: Child): Promise<InsideReport> {
  let last = await inside(child);
  for (let look = 0; look < LOOKS; look += 1) {
    await delay(SETTLE_MS);
    const report = await inside(child);
    if (report.rss > last.rss * 0.99) return report;
    last = report;
  }
  return last;
}

async function inside(child: Child): Promise<InsideReport> {
  const { promise, resolve } = Promise.withResolvers<InsideReport>();
  const listen = (message: unknown) => {
    const found = insideReportSchema.safeParse(message);
    if (found.success) resolve(found.data);
  };
  child.process.on('message', listen);
  child.process.send('inside');
  const report = await promise;
  child.process.off('message', listen);
  return report;
}

interface Crowd extends AsyncDisposable {
  /** Resolves when all are connected and have sent their request. */
  hold(port: number, paths: readonly string[]): Promise<void>;
  release(): Promise<void>;
  /** When the nth response arrived, by the clock of the machine. */
  answerOf(nth: number): Promise<number>;
}

async function startCrowd(): Promise<Crowd> {
  const waiting = new Map<number, PromiseWithResolvers<number>>();
  let reported = Promise.withResolvers<WaiterReport>();
  const child = startChild({
    module: 'tools/bench/children/waiters.ts',
    onMessage(message) {
      const report = waiterReportSchema.safeParse(message);
      if (!report.success) return;
      if (!('answered' in report.data)) return reported.resolve(report.data);
      const { answered, status, at } = report.data;
      const whose = waiting.get(answered);
      waiting.delete(answered);
      if (status !== 200) reported.reject(new Error(`a waiter was answered ${status}`));
      else whose?.resolve(at);
    },
  });
  await readiness(child);
  const tell = async (command: WaiterCommand) => {
    reported = Promise.withResolvers();
    child.process.send(command);
    await reported.promise;
    // From now on any refusal ends the benchmark.
    reported = Promise.withResolvers();
  };
  return {
    hold: (port, paths) => tell({ do: 'hold', port, paths: [...paths], headers: headerLines }),
    release: () => tell({ do: 'release' }),
    answerOf(nth) {
      const answer = Promise.withResolvers<number>();
      waiting.set(nth, answer);
      return answer.promise;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
