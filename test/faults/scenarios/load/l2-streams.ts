import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventListener, listen } from '../../../support/event-listener.ts';
import { startGatewayProcess } from '../../../support/gateway-process.ts';
import { askFor, createApi, freePort, keyOf, startWorld } from '../../../support/world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';

interface Size {
  readonly streams: number;
  readonly mcpServers: number;
  /** Ended elicitations per second, over all MCP servers. */
  readonly perSecond: number;
  readonly seconds: number;
}

const SHORT: Size = { streams: 500, mcpServers: 10, perSecond: 20, seconds: 3 };
const LONG: Size = { streams: 10_000, mcpServers: 100, perSecond: 100, seconds: 20 };
/**
 * For the long form. A bare `node:http` server takes about 165 MiB for as many open responses (tools/bench, group `waiters`), so the
 * limit cannot be lower, and need not be much higher.
 */
const MOST_MIB = 190;
const LATEST_MS = 1_000;
const PLENTY = 1_000_000;
const OPENED_AT_ONCE = 50;

/** Listeners of many MCP servers at one process. Each must receive every event of its MCP server once, and no other event. */
async function manyStreams(run: FaultRun, size: Size): Promise<void> {
  const ids = Array.from({ length: size.mcpServers }, (_, n) => `server-${n}`);
  const limits = { requestsPerMinute: PLENTY, elicitationsPerSubject: PLENTY, eventStreams: size.streams };
  const world = run.stack.use(
    await startWorld({
      replicas: 0,
      publicUrl: `http://localhost:${await freePort()}`,
      otherMcpServers: ids.map(id => ({ id, limits })),
    }),
  );
  const gateway = run.stack.use(await startGatewayProcess(world.config));
  const memory = async () =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1024;
  const apis = ids.map(id => createApi(gateway.address, keyOf(id)));
  for (const api of apis) await api.call('GET', '/v1/elicitations/none');
  /** Opens the streams in batches. */
  async function open(count: number): Promise<{ readonly stream: EventListener; readonly of: number }[]> {
    const opened: { readonly stream: EventListener; readonly of: number }[] = [];
    for (let at = 0; at < count; at += OPENED_AT_ONCE)
      opened.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(OPENED_AT_ONCE, count - at) }, async (_, n) => {
            const of = (at + n) % ids.length;
            const stream = await listen(gateway.address, { apiKey: keyOf(ids[of] ?? '') });
            run.stack.use(stream);
            if (stream.status !== 200) throw new Error(`a stream was answered with ${stream.status}`);
            return { stream, of };
          }),
        )),
      );
    return opened;
  }

  // Warm up first: memory that the first streams claim is kept.
  for (const { stream } of await open(size.streams / 10)) stream.drop();
  const before = await memory();
  const streams = await open(size.streams);
  const grown = (await memory()) - before;

  const random = run.random.fork('ends');
  /** By MCP server. */
  const ended = new Map<string, { readonly of: number; readonly askedAt: number }>();
  const work: Promise<void>[] = [];
  const began = performance.now();
  for (let n = 0; n < size.perSecond * size.seconds; n += 1) {
    const due = began + (n / size.perSecond) * 1000;
    await delay(Math.max(0, due - performance.now()));
    const of = random.below(ids.length);
    work.push(endOne(of, n));
  }
  await Promise.all(work);

  async function endOne(of: number, n: number): Promise<void> {
    const api = apis[of];
    if (api === undefined) throw new TypeError('no such MCP server');
    const issued = await api.issue(askFor(world, `person-${n}`));
    if (issued.status !== 201) throw new Error(`not issued: ${issued.status}`);
    const askedAt = performance.now();
    const cancelled = await api.cancel(issued.body.elicitationId);
    if (cancelled.status !== 200) throw new Error(`not cancelled: ${cancelled.status}`);
    ended.set(issued.body.elicitationId, { of, askedAt });
  }

  const took: number[] = [];
  const byServer = Map.groupBy(ended, ([, { of }]) => of);
  let heardLast = 0;
  for (const { stream, of } of streams) {
    const expected = (byServer.get(of) ?? []).map(([elicitationId]) => elicitationId);
    const heardEnds = () => stream.heard.filter(({ type }) => type === 'elicitation.cancelled');
    await stream.until(() => heardEnds().length >= expected.length);
    const heard = heardEnds().map(({ data }) => data['elicitationId'] ?? '');
    if (heard.toSorted().join() !== expected.toSorted().join())
      throw new Error('a stream received other events than expected');
    for (const [nth, { type, data }] of stream.heard.entries()) {
      const askedAt = ended.get(data['elicitationId'] ?? '')?.askedAt;
      const at = stream.heardAt[nth];
      if (type !== 'elicitation.cancelled' || askedAt === undefined || at === undefined) continue;
      took.push(at - askedAt);
      heardLast = Math.max(heardLast, at);
    }
  }
  run.measure('streams', size.streams, '');
  run.measure('memory of all', grown, 'MiB');
  run.measure('memory each', (grown * 1024) / size.streams, 'KiB');
  run.measure('events heard', ended.size * (size.streams / size.mcpServers), '');
  const lastAsked = Math.max(...[...ended.values()].map(({ askedAt }) => askedAt));
  run.measure('all received after the last', heardLast - lastAsked, 'ms');
  const p99 = took.sort((one, other) => one - other)[Math.floor(took.length * 0.99)] ?? Number.POSITIVE_INFINITY;
  run.measure('p99 from the request that ends it to a stream', p99, 'ms');
  if (!run.isLong) return;
  if (grown > MOST_MIB) throw new Error(`${grown} MiB for all streams`);
  if (p99 > LATEST_MS) throw new Error(`${p99} ms until 99 of 100 were heard`);
}

export const streams: readonly Scenario[] = [
  { item: 'L2', name: '500 streams at one process, 20 completions per second', run: run => manyStreams(run, SHORT) },
  {
    item: 'L2',
    name: '10,000 streams at one process, 100 completions per second',
    length: 'long',
    timeoutMs: 900_000,
    run: run => manyStreams(run, LONG),
  },
];
