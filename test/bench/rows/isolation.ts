import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { startRedis } from '@postern/testkit/redis';
import { expireAccessToken } from '../../support/token-expiry.ts';
import { type OpenLoopCommand, openLoopReportSchema } from '../children/open-loop.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { type Child, readiness, startChild } from '../support/child.ts';
import { apiHeaders, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { HttpConnection, httpRequest } from '../support/http-connection.ts';
import { compared, type Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { interleave } from '../support/statistics.ts';

const READS = 600;
/** Half of the default of `waitingPerProvider`. Further reads would be refused at once; these hang. */
const WAITING_SHARE = 500;
const PER_SECOND = 150;
const { authorization = '' } = apiHeaders;

interface Others {
  readonly p99: number;
  readonly refused: number;
}

/** One MCP server sends requests at a fixed rate while token reads of another one wait for a provider that never responds. */
export async function isolationRows(bench: Bench): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis(redisOptions));
  const provider = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  stack.defer(() => {
    provider.closeAllConnections();
    provider.close();
  });
  const vaultKey = newVaultKey();
  const { port: providerPort } = provider.address() as AddressInfo;
  const settings = { ...bench, redisUrl: redis.url, vaultKey, providerIssuer: `http://localhost:${providerPort}` };
  const { child, port } = stack.use(
    await startGatewayProcess({ ...settings, isShared: true, outboundTimeoutSeconds: 20 }),
  );
  const generator = stack.use(startChild({ module: 'test/bench/children/open-loop.ts' }));
  await readiness(generator);
  pin(child, 0);
  pin(generator, 1);
  const [connectionId = ''] = await connectAll(redis.url, vaultKey, 1);
  await expireAccessToken(redis.url, connectionId);

  async function others(): Promise<Others> {
    const answer = once(generator.process, 'message');
    // Three times as long as other rows: the 99th percentile of 450 requests is one garbage collection.
    const seconds = 3 * bench.seconds;
    generator.process.send({ port, perSecond: PER_SECOND, seconds } satisfies OpenLoopCommand);
    const { ms, refused } = openLoopReportSchema.parse((await answer)[0]);
    return { p99: ms.toSorted((a, b) => a - b)[Math.floor(ms.length * 0.99)] ?? Number.NaN, refused };
  }

  async function besideHangingReads(): Promise<Others> {
    const connections = await Promise.all(Array.from({ length: READS }, () => HttpConnection.open(port)));
    using _ = disposeAll(connections);
    const request = httpRequest('POST', `/v1/connections/${connectionId}/access-token`, port, { authorization });
    const full = Promise.withResolvers<void>();
    let refused = 0;
    async function read(connection: HttpConnection): Promise<void> {
      const { status, body } = await connection.request(request);
      // Refused because too many others arrived at the same time.
      if (/too_many_concurrent_requests|overloaded/.test(body)) return read(connection);
      if (!body.includes('provider_unavailable')) throw new Error(`a read was answered with ${status}`);
      refused += 1;
      if (refused === READS - WAITING_SHARE) full.resolve();
    }
    for (const connection of connections) read(connection).catch(full.reject);
    await full.promise;
    // Refused after all of them: the burst has ended, so the row measures the waiting reads.
    using last = await HttpConnection.open(port);
    await read(last);
    return others();
  }

  await others();
  const { ours, baseline } = await interleave(bench.runs, besideHangingReads, others);
  const p99Of = (runs: readonly Others[]) => runs.map(({ p99 }) => p99);
  return [
    compared(
      `p99 of another MCP server, ${PER_SECOND} requests/s, while ${READS} reads meet a hanging provider`,
      'ms',
      'undisturbed',
      { ours: p99Of(ours), baseline: p99Of(baseline) },
      { bound: 'at most', value: 2, profile: 'isolation' },
    ),
    {
      figure: '  of its requests refused',
      unit: 'requests',
      ours: ours.map(({ refused }) => refused),
      target: { bound: 'at most', value: 0, profile: 'isolation' },
    },
  ];
}

function disposeAll(connections: readonly HttpConnection[]): DisposableStack {
  const stack = new DisposableStack();
  for (const connection of connections) stack.use(connection);
  return stack;
}

/** Pins a process to its own processor, if the machine has several and supports it. */
function pin({ process: { pid } }: Child, processor: number): void {
  if (availableParallelism() > processor)
    spawnSync('taskset', ['-acp', String(processor), String(pid)], { stdio: 'ignore' });
}
