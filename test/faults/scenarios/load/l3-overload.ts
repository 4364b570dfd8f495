import { setTimeout as delay } from 'node:timers/promises';
import { type HttpAnswer, headerOf, httpRequest } from '../../../bench/support/http-connection.ts';
import { createApi, freePort, keyOf } from '../../../support/world.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { flood, percentile } from '../../support/flood.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';

/** So few that a handful of connections is ten times as much. */
const IN_FLIGHT = 24;
const CONNECTIONS = 240;
const STALL_MS = 500;
const RECOVERED_MS = 10_000;

interface Tally {
  /** Ids that were acknowledged. */
  readonly issued: string[];
  shed: number;
}

function tallied(tally: Tally, answer: HttpAnswer): void {
  if (answer.status === 201) {
    tally.issued.push((JSON.parse(answer.body) as { elicitationId: string }).elicitationId);
    return;
  }
  const code = (JSON.parse(answer.body) as { code?: string }).code ?? '';
  if (answer.status !== 503 && answer.status !== 429) throw new Error(`answered ${answer.status} ${code}`);
  const seconds = Number(headerOf(answer, 'retry-after'));
  if (!Number.isSafeInteger(seconds) || seconds < 1) throw new Error(`${answer.status} ${code} without Retry-After`);
  tally.shed += 1;
}

async function gauge(metricsAddress: string, name: string): Promise<number> {
  const text = await (await fetch(`${metricsAddress}/metrics`)).text();
  const value = text
    .split('\n')
    .find(line => line.startsWith(`${name} `))
    ?.split(' ')[1];
  return Number(value ?? Number.NaN);
}

async function run(run: FaultRun): Promise<void> {
  const metricsPort = await freePort();
  const metricsAddress = `http://127.0.0.1:${metricsPort}`;
  const world = await startFaultWorld(run, {
    config: { overload: { requestsInFlight: IN_FLIGHT }, metrics: { host: '127.0.0.1', port: metricsPort } },
    hasWebhooks: false,
  });
  const gateway = await world.startGateway('only');
  const port = Number(new URL(gateway.address).port);
  const traffic = await startTraffic(run, {
    world,
    concurrency: 4,
    patienceMs: 6_000,
    attempts: 40,
    timeoutMs: 15_000,
  });
  await traffic.more(4, 60_000);

  let subjects = 0;
  const issuer = world.world.identityProvider.issuer;
  const headers = { authorization: `Bearer ${keyOf('files')}`, 'content-type': 'application/json' };
  const ask = () => {
    subjects += 1;
    const subject = { issuer, subject: `flooding-${run.seed}-${subjects}` };
    const authorization = { provider: 'forge', scopes: ['repo'] };
    return httpRequest(
      'POST',
      '/v1/elicitations',
      port,
      headers,
      JSON.stringify({ kind: 'authorization', subject, message: 'One of very many', authorization }),
    );
  };
  const tally: Tally = { issued: [], shed: 0 };
  const admitted: number[] = [];
  const turnedAway: number[] = [];
  let alive = 0;
  await gauge(metricsAddress, 'nodejs_eventloop_lag_max_seconds');
  const endsAt = performance.now() + (run.isLong ? 60_000 : 3_000);
  run.history.record({ who: 'harness', what: 'fault', fault: 'flood begins', target: 'only' });
  const flooding = flood({
    address: gateway.address,
    connections: CONNECTIONS,
    next: () => (performance.now() < endsAt ? ask() : undefined),
    onAnswer(answer, tookMs) {
      tallied(tally, answer);
      (answer.status === 201 ? admitted : turnedAway).push(tookMs);
    },
  });
  const looking = async () => {
    while (performance.now() < endsAt) {
      const answer = await fetch(`${gateway.address}/livez`);
      await answer.body?.cancel();
      if (answer.status !== 200) throw new Error(`alive and busy, and /livez says ${answer.status}`);
      alive += 1;
      await delay(100);
    }
  };
  const [{ lost }] = await Promise.all([flooding, looking()]);
  run.history.record({ who: 'harness', what: 'fault', fault: 'flood ends', target: 'only' });
  const stallMs = (await gauge(metricsAddress, 'nodejs_eventloop_lag_max_seconds')) * 1000;
  const api = createApi(gateway.address, keyOf('files'));
  const recoveredMs = await until('everything is answered again', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.read(tally.issued[0] ?? '')));
    return answers.every(({ status }) => status === 200);
  });
  if (tally.shed === 0 || tally.issued.length === 0)
    throw new Error(`no overload: ${tally.issued.length} issued, ${tally.shed} turned away`);
  if (alive === 0) throw new Error('nobody looked whether it was alive');
  await expectKept(run, tally, api);
  await traffic.settle({ announceMs: 60_000 });
  if ((await gauge(metricsAddress, 'postern_requests_in_flight')) !== 0) throw new Error('places are still taken');
  run.measure('issued', tally.issued.length, '');
  run.measure('turned away', tally.shed, '');
  run.measure('connections lost', lost, '');
  run.measure('admitted, p99', percentile(admitted, 0.99), 'ms');
  run.measure('turned away, p99', percentile(turnedAway, 0.99), 'ms');
  run.measure('longest stall', stallMs, 'ms');
  run.measure('recovered after', recoveredMs, 'ms');
  if (run.isLong && stallMs > STALL_MS) throw new Error(`a stall of ${stallMs} ms`);
  if (run.isLong && recoveredMs > RECOVERED_MS) throw new Error(`recovered after ${recoveredMs} ms`);
}

/** What was acknowledged in the storm is there, and is what was asked. */
async function expectKept(run: FaultRun, { issued }: Tally, api: ReturnType<typeof createApi>): Promise<void> {
  const looked = run.isLong ? issued.filter((_, n) => n % 50 === 0) : issued.slice(0, 500);
  for (const elicitationId of looked) {
    const { status, body } = await api.read(elicitationId);
    if (status !== 200 || body.status !== 'pending') throw new Error(`${elicitationId} was issued, and is ${status}`);
  }
}

export const overload: Scenario = {
  item: 'L3',
  name: 'ten times as much as there is room for: 429 or 503 with Retry-After only, and what was let in is kept',
  timeoutMs: 240_000,
  run,
};
