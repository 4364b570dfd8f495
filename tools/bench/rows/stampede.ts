import { startRedis } from '@postern/testkit/redis';
import { z } from 'zod';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { expireAccessToken } from '../../../test/support/token-expiry.ts';
import { type Bench, redisOptions } from '../support/bench.ts';
import { type Forge, startForge } from '../support/forge.ts';
import { apiHeaders, newVaultKey, startGatewayProcess } from '../support/gateway.ts';
import { compared, type Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { median, rounds } from '../support/statistics.ts';

const CALLERS = 100;
const REPLICAS = 3;
const { authorization = '' } = apiHeaders;
const tokenSchema = z.object({ accessToken: z.string(), generation: z.int() });

/** Concurrent callers of a busy tool at three gateways, when their shared token has just expired. */
export async function stampedeRows(bench: Bench): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis(redisOptions));
  const forge = stack.use(await startForge());
  const settings = { ...bench, redisUrl: redis.url, vaultKey: newVaultKey(), providerIssuer: forge.issuer };
  const first = stack.use(await startGatewayProcess(settings));
  const gateways = [first];
  while (gateways.length < REPLICAS)
    gateways.push(stack.use(await startGatewayProcess({ ...settings, publicUrl: first.publicUrl })));
  const callers: { connection: HttpConnection; port: number }[] = [];
  for (let nth = 0; nth < CALLERS; nth += 1) {
    const port = gateways[nth % REPLICAS]?.port ?? 0;
    callers.push({ connection: stack.use(await HttpConnection.open(port)), port });
  }
  const [connectionId = ''] = await connectAll(redis.url, settings.vaultKey, 1, {
    issuer: forge.issuer,
    refreshToken: await forge.grant(),
  });
  const path = `/v1/connections/${connectionId}/access-token`;
  let generation = 0;

  /** All callers at once; they must get the same token. */
  async function askAll(): Promise<{ ms: number; generation: number }> {
    const sentAt = performance.now();
    const answers = await Promise.all(
      callers.map(({ connection, port }) => connection.request(httpRequest('POST', path, port, { authorization }))),
    );
    const ms = performance.now() - sentAt;
    const refused = answers.find(({ status }) => status !== 200);
    if (refused !== undefined) throw new Error(`a caller was answered with ${refused.status}: ${refused.body}`);
    const [token, ...others] = answers.map(({ body }) => tokenSchema.parse(JSON.parse(body)));
    if (token === undefined || others.some(({ accessToken }) => accessToken !== token.accessToken))
      throw new Error('the callers got different tokens');
    return { ms, generation: token.generation };
  }

  async function stampede(): Promise<Stampede> {
    await expireAccessToken(redis.url, connectionId);
    const before = await forge.refreshes();
    const asked = await askAll();
    if (asked.generation <= generation) throw new Error('no token was refreshed');
    generation = asked.generation;
    const refreshes = (await forge.refreshes()) - before;
    return { ms: asked.ms, refreshes, freshMs: (await askAll()).ms };
  }

  const bare = await bareRefresh(forge);
  const times = Math.ceil(bench.samples / 10);
  const pairs = { ours: [] as number[], baseline: [] as number[] };
  const fresh: number[] = [];
  const most: number[] = [];
  for (const run of rounds(bench, -1)) {
    const stampedes = await repeat(times, stampede);
    const single = await repeat(times, bare);
    // The first run is a warm-up: the first refresh fetches the provider's metadata.
    if (run < 0) continue;
    pairs.ours.push(median(stampedes.map(({ ms }) => ms)));
    pairs.baseline.push(median(single));
    fresh.push(median(stampedes.map(({ freshMs }) => freshMs)));
    most.push(Math.max(...stampedes.map(({ refreshes }) => refreshes)));
  }
  return [
    compared(
      `refresh stampede: ${CALLERS} callers, ${REPLICAS} gateways, until all have the token`,
      'ms',
      'one bare refresh',
      pairs,
    ),
    compared(
      'refresh stampede, against its floor',
      'ms',
      'one bare refresh and the same callers again',
      { ours: pairs.ours, baseline: pairs.baseline.map((single, run) => single + (fresh[run] ?? Number.NaN)) },
      { bound: 'at most', value: 4, profile: 'stampede' },
    ),
    { figure: '  the same callers again, with a fresh token', unit: 'ms', ours: fresh },
    {
      figure: '  most refreshes at the provider for one of them',
      unit: 'refreshes',
      ours: most,
      target: { bound: 'at most', value: 1, profile: 'stampede' },
    },
  ];
}

interface Stampede {
  readonly ms: number;
  readonly refreshes: number;
  /** All callers again, right afterwards. */
  readonly freshMs: number;
}

/** Refreshes another grant and keeps the rotated token. @returns the duration of one refresh, in milliseconds */
async function bareRefresh(forge: Forge): Promise<() => Promise<number>> {
  let refreshToken = await forge.grant();
  return async () => {
    const sentAt = performance.now();
    refreshToken = await forge.refresh(refreshToken);
    return performance.now() - sentAt;
  };
}

async function repeat<T>(times: number, measure: () => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let time = 0; time < times; time += 1) values.push(await measure());
  return values;
}
