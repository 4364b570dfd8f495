import { setTimeout as delay } from 'node:timers/promises';
import { type HttpAnswer, headerOf, httpRequest } from '../../../support/http-connection.ts';
import { createApi, freePort, keyOf } from '../../../support/world.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { flood, percentile } from '../../support/flood.ts';
import { until } from '../../support/until.ts';
import { startTraffic } from '../../traffic.ts';

/** So low that a few connections exceed it tenfold. */
const IN_FLIGHT = 24;
const CONNECTIONS = 240;
const STALL_MS = 500;
const RECOVERED_MS = 10_000;

/** Subjects of the flood. A repeated request of a subject returns the open elicitation. */
const PERSONS = 400;

interface Tally {
  /** Acknowledged elicitation by subject. */
  readonly issued: Map<string, string>;
  acknowledged: number;
  shed: number;
}

/** @returns the id of a new elicitation, else undefined */
function tallied(tally: Tally, subject: string, answer: HttpAnswer): string | undefined {
  const body = JSON.parse(answer.body) as { elicitationId?: string; code?: string };
  if (answer.status === 201 || answer.status === 200) {
    tally.acknowledged += 1;
    const known = tally.issued.get(subject);
    if (body.elicitationId === undefined || (known !== undefined && known !== body.elicitationId))
      throw new Error(`${known} was issued, and then ${body.elicitationId} for the same request`);
    tally.issued.set(subject, body.elicitationId);
    return known === undefined ? body.elicitationId : undefined;
  }
  const { code = '' } = body;
  if (answer.status !== 503 && answer.status !== 429) throw new Error(`answered with ${answer.status} ${code}`);
  const seconds = Number(headerOf(answer, 'retry-after'));
  if (!Number.isSafeInteger(seconds) || seconds < 1) throw new Error(`${answer.status} ${code} without Retry-After`);
  tally.shed += 1;
  return undefined;
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
  await traffic.more(4);

  let asked = 0;
  const issuer = world.world.identityProvider.issuer;
  const headers = { authorization: `Bearer ${keyOf('files')}`, 'content-type': 'application/json' };
  const ask = () => {
    asked += 1;
    const subject = `flooding-${asked % PERSONS}`;
    const authorization = { provider: 'forge', scopes: ['repo'] };
    const body = { kind: 'authorization', subject: { issuer, subject }, message: 'One of very many', authorization };
    const text = httpRequest('POST', '/v1/elicitations', port, headers, JSON.stringify(body));
    return { text, subject };
  };
  const note = (subject: string, elicitationId: string) => {
    const call = run.history.nextCall();
    const who = 'mcp:files';
    const to = gateway.address;
    run.history.record({ who, what: 'request', call, op: 'issue', to, kind: 'authorization', subject });
    run.history.record({ who, what: 'response', call, http: 201, elicitationId, status: 'pending' });
  };
  const tally: Tally = { issued: new Map(), acknowledged: 0, shed: 0 };
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
    onAnswer(answer, tookMs, { subject }) {
      const fresh = tallied(tally, subject, answer);
      if (fresh !== undefined) note(subject, fresh);
      (answer.status < 300 ? admitted : turnedAway).push(tookMs);
    },
  });
  const looking = async () => {
    while (performance.now() < endsAt) {
      const answer = await fetch(`${gateway.address}/livez`);
      await answer.body?.cancel();
      if (answer.status !== 200) throw new Error(`the live gateway answered /livez with ${answer.status}`);
      alive += 1;
      await delay(100);
    }
  };
  const [{ lost }] = await Promise.all([flooding, looking()]);
  run.history.record({ who: 'harness', what: 'fault', fault: 'flood ends', target: 'only' });
  const stallMs = (await gauge(metricsAddress, 'nodejs_eventloop_lag_max_seconds')) * 1000;
  const api = createApi(gateway.address, keyOf('files'));
  const recoveredMs = await until('everything is answered again', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.read([...tally.issued.values()][0] ?? '')));
    return answers.every(({ status }) => status === 200);
  });
  if (tally.shed === 0 || tally.acknowledged === 0)
    throw new Error(`no overload: ${tally.acknowledged} issued, ${tally.shed} refused`);
  if (alive === 0) throw new Error('no /livez request was answered');
  await expectKept(tally, api);
  await traffic.settle();
  if ((await gauge(metricsAddress, 'postern_requests_in_flight')) !== 0)
    throw new Error('requests are still counted as in flight');
  run.measure('answered', tally.acknowledged, '');
  run.measure('refused', tally.shed, '');
  run.measure('connections lost', lost, '');
  run.measure('admitted, p99', percentile(admitted, 0.99), 'ms');
  run.measure('refused, p99', percentile(turnedAway, 0.99), 'ms');
  run.measure('longest stall', stallMs, 'ms');
  run.measure('recovered after', recoveredMs, 'ms');
  if (run.isLong && stallMs > STALL_MS) throw new Error(`a stall of ${stallMs} ms`);
  if (run.isLong && recoveredMs > RECOVERED_MS) throw new Error(`recovered after ${recoveredMs} ms`);
}

/** Every acknowledged elicitation exists after the overload. */
async function expectKept({ issued }: Tally, api: ReturnType<typeof createApi>): Promise<void> {
  for (const elicitationId of issued.values()) {
    const { status, body } = await api.read(elicitationId);
    if (status !== 200 || body.status !== 'pending')
      throw new Error(`${elicitationId} was issued, but a read returned ${status}`);
  }
}

export const overload: Scenario = {
  item: 'L3',
  name: 'ten times the admitted load: only 429 or 503 with Retry-After, and admitted requests lose nothing',
  run,
};
