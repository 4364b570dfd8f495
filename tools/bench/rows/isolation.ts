import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startRedis } from '@postern/testkit/redis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { expireAccessToken } from '../../../test/support/token-expiry.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { apiHeaders, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import type { Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { interleave } from '../support/statistics.ts';
import { type SteadyRun, startSteadyLoad, steadyRows } from '../support/steady-load.ts';

const READS = 600;
/** Half of the default of `waitingPerProvider`. Further reads would be refused at once; these hang. */
const WAITING_SHARE = 500;
const PER_SECOND = 150;
const { authorization = '' } = apiHeaders;

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
  const gateway = stack.use(await startGatewayProcess({ ...settings, isShared: true, outboundTimeoutSeconds: 20 }));
  const { port } = gateway;
  const load = stack.use(await startSteadyLoad(gateway, PER_SECOND));
  const [connectionId = ''] = await connectAll(redis.url, vaultKey, 1);
  await expireAccessToken(redis.url, connectionId);

  // Three times as long as other rows: the 99th percentile of 450 requests is one garbage collection.
  const others = () => load.run(3 * bench.seconds);

  async function besideHangingReads(): Promise<SteadyRun> {
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
  return steadyRows(
    `p99 of another MCP server, ${PER_SECOND} requests/s, while ${READS} reads meet a hanging provider`,
    'undisturbed',
    await interleave(bench, besideHangingReads, others),
    { value: 2, profile: 'isolation' },
  );
}

function disposeAll(connections: readonly HttpConnection[]): DisposableStack {
  const stack = new DisposableStack();
  for (const connection of connections) stack.use(connection);
  return stack;
}
