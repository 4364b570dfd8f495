import { startBalancer } from '../../../support/balancer.ts';
import { listen } from '../../../support/event-listener.ts';
import { keyOf } from '../../../support/world.ts';
import { type FaultGateway, type FaultWorld, startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { askOf } from '../../traffic/asks.ts';
import { startTraffic, type Traffic } from '../../traffic.ts';

/** Enough on a busy machine for the gateway to report that it is stopping, and for all in-flight requests. */
const STOP = { drainSeconds: 4, finishSeconds: 60 };
/** Allowed refusals: nothing was done, or the request is safe to repeat under the same key. */
const RETRYABLE = new Set(['unavailable', 'overloaded', 'rate_limited']);

async function readinessOf({ address }: FaultGateway): Promise<number | undefined> {
  return fetch(`${address}/readyz`, { headers: { connection: 'close' } }).then(
    async answer => {
      await answer.body?.cancel();
      return answer.status;
    },
    () => undefined,
  );
}

/** Starts a waiting read at this replica for a user who does not respond. */
async function waitAt(run: FaultRun, world: FaultWorld, traffic: Traffic, gateway: FaultGateway) {
  const random = run.random.fork(`waiting at ${gateway.name}`);
  const caller = traffic.caller('tracker');
  const name = `left waiting at ${gateway.name} ${random.below(1_000_000)}`;
  const subject = world.people.at(-1) ?? '';
  const { body } = askOf(run, world, { kind: 'confirmation', subject, name, ttlSeconds: 60 });
  const issued = await caller.issue(body, { idempotencyKey: name.replaceAll(' ', '-'), subject }, random);
  if (issued === undefined) throw new Error('the request was not issued');
  const { elicitationId } = issued;
  const path = `/v1/elicitations/${elicitationId}?wait=55`;
  return caller.call({ op: 'read', method: 'GET', path, elicitationId, timeoutMs: 120_000 }, gateway.address);
}

/** Stops one replica as a supervisor does, while the other one keeps serving. */
async function roll(
  run: FaultRun,
  { world, traffic, stopped, lead }: { world: FaultWorld; traffic: Traffic; stopped: FaultGateway; lead: () => void },
): Promise<void> {
  const waiting = waitAt(run, world, traffic, stopped);
  using stream = await listen(stopped.address, { apiKey: keyOf('tracker') });
  await traffic.more(4);
  run.history.record({ who: 'harness', what: 'fault', fault: 'SIGTERM', target: stopped.name });
  const began = performance.now();
  stopped.signal('SIGTERM');
  // The way a load balancer detects it. Requests that arrive meanwhile are served.
  await until(`${stopped.name} says that it is stopping`, async () => (await readinessOf(stopped)) === 503);
  lead();
  await stream.ended;
  if (stream.retryMs === undefined) throw new Error('the stream ended without a retry field');
  const answer = await waiting;
  if (answer?.http !== 200 || answer.body['status'] !== 'pending')
    throw new Error(`a waiting read was answered with ${answer?.http} ${String(answer?.body['status'])}`);
  const { code, signal } = await stopped.ended();
  if (code !== 0) throw new Error(`${stopped.name} ended with ${code ?? signal}`);
  const tookMs = performance.now() - began;
  run.measure(`stop of ${stopped.name}`, tookMs, 'ms');
  if (stopped.lines.some(line => line.includes('"gateway.stop_cut"')))
    throw new Error(`${stopped.name} aborted in-flight requests`);
  await traffic.more(4);
  await stopped.restart();
  await until(`${stopped.name} is back`, async () => (await readinessOf(stopped)) === 200);
}

/** Every response was a success or an allowed refusal, and every elicitation reached its own end. */
function expectNothingFailed(run: FaultRun): void {
  const { entries } = run.history;
  const wrong = entries.filter(
    entry =>
      entry.what === 'response' &&
      entry.http !== undefined &&
      (entry.http >= 500 || entry.http === 429) &&
      entry.code !== undefined &&
      !RETRYABLE.has(entry.code),
  );
  if (wrong.length > 0)
    throw new Error(`${wrong.length} responses that a caller cannot recover from: ${JSON.stringify(wrong[0])}`);
  const answered = new Set(
    entries.flatMap(entry => (entry.what === 'response' && (entry.http ?? 500) < 300 ? [entry.call] : [])),
  );
  const asked = new Map<string, boolean>();
  for (const entry of entries) {
    if (entry.what !== 'request' || entry.op !== 'issue' || entry.idempotencyKey === undefined) continue;
    asked.set(entry.idempotencyKey, (asked.get(entry.idempotencyKey) ?? false) || answered.has(entry.call));
  }
  const given = [...asked].filter(([, isIssued]) => !isIssued);
  if (given.length > 0) throw new Error(`${given.length} of ${asked.size} requests were never issued`);
  const failed = entries.filter(entry => entry.what === 'final' && entry.status === 'failed');
  if (failed.length > 0) throw new Error(`${failed.length} elicitations failed`);
  const responses = entries.filter(entry => entry.what === 'response');
  run.measure('answers 503', responses.filter(({ http }) => http === 503).length, '');
  run.measure('connections lost', responses.filter(({ http }) => http === undefined).length, '');
}

export const gracefulStop: Scenario = {
  item: 'P11',
  name: 'SIGTERM under load: two processes behind a load balancer restart in turn, and no flow fails',
  async run(run) {
    const world = await startFaultWorld(run, { config: { stop: STOP } });
    const one = await world.startGateway('one');
    const other = await world.startGateway('other');
    const balancer = run.stack.use(await startBalancer(one.address));
    const traffic = await startTraffic(run, { world, addresses: () => [balancer.url], patienceMs: 6_000 });
    await traffic.more(4);
    for (let round = 0; round < (run.isLong ? 3 : 1); round += 1) {
      await roll(run, { world, traffic, stopped: one, lead: () => balancer.lead(other.address) });
      await roll(run, { world, traffic, stopped: other, lead: () => balancer.lead(one.address) });
    }
    await traffic.settle({ replicas: () => [one.address, other.address] });
    expectNothingFailed(run);
  },
};
