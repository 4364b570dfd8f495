import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { httpRequest } from '../../../support/http-connection.ts';
import { askFor, createApi, keyOf } from '../../../support/world.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { flood, percentile } from '../../support/flood.ts';
import { until } from '../../support/until.ts';

const SHORT = 5_000;
const LONG = 1_000_000;
const CONNECTIONS = 32;
const LEGITIMATE = 200;
const MIB = 1024 * 1024;

async function run(run: FaultRun): Promise<void> {
  const world = await startFaultWorld(run, { hasWebhooks: false });
  const gateway = await world.startGateway('only');
  const redis = new Redis(world.world.redis.url);
  run.stack.defer(() => redis.disconnect());
  const port = Number(new URL(gateway.address).port);
  const api = createApi(gateway.address, keyOf('tracker'));
  const issued = await api.issue(askFor(world.world, world.people[0] ?? ''));
  if (issued.status !== 201) throw new Error(`not issued: ${issued.status}`);
  const { elicitationId } = issued.body;

  let late = 0;
  async function legitimate(): Promise<number> {
    const times: number[] = [];
    for (let n = 0; n < LEGITIMATE; n += 1) {
      const began = performance.now();
      const { status } = await api.read(elicitationId);
      // On a slow machine Redis may respond too late. No other failure is allowed.
      if (status === 503) late += 1;
      else if (status !== 200) throw new Error(`a read of an existing elicitation was answered with ${status}`);
      times.push(performance.now() - began);
    }
    return percentile(times, 0.99);
  }
  // Timers of the process set leases and probes, independent of requests.
  const keys = async () =>
    new Set((await redis.keys('*')).filter(key => !/:(lease:|refreshes:|(probe|rps|ages)$)/.test(key)));

  const random = run.random.fork('ids');
  let asked = 0;
  const pages = ['', '/leaving', '/device', '/charge', '/passkey'];
  const anonymous = () => {
    asked += 1;
    const id = createHash('sha256').update(`${run.seed} ${asked}`).digest('base64url');
    const path = `/e/el_${random.pick(['00', '7f', 'ff'])}${id}${random.pick(pages)}`;
    return { text: httpRequest('GET', path, port, { accept: 'text/html' }) };
  };
  const floodWith = async (count: number) => {
    let left = count;
    const statuses = new Map<number, number>();
    const { answers } = await flood({
      address: gateway.address,
      connections: CONNECTIONS,
      next() {
        left -= 1;
        return left < 0 ? undefined : anonymous();
      },
      onAnswer: ({ status }) => void statuses.set(status, (statuses.get(status) ?? 0) + 1),
    });
    if (answers !== count) throw new Error(`${answers} of ${count} were answered`);
    for (const status of statuses.keys())
      if (status >= 500 && status !== 503) throw new Error(`a page of an unknown id was answered with ${status}`);
    return statuses;
  };

  await floodWith(2_000);
  const quietMs = await legitimate();
  // The relay moves the issued event into the feed and stores its cursor.
  await untilStill(keys);
  const before = await keys();
  const rssBefore = residentBytes(gateway.pid);
  const count = run.isLong ? LONG : SHORT;
  run.history.record({ who: 'harness', what: 'fault', fault: `${count} random ids` });
  const [[first, rssHalf], busyMs] = await Promise.all([
    floodWith(count / 2).then(found => [found, residentBytes(gateway.pid)] as const),
    legitimate(),
  ]);
  const second = await floodWith(count / 2);
  const after = await keys();
  const added = [...after].filter(key => !before.has(key));
  if (added.length > 0) throw new Error(`${added.length} keys more, such as ${added[0]}`);
  const grownMib = (residentBytes(gateway.pid) - rssBefore) / MIB;
  run.measure('answered', count, '');
  run.measure('refused', (first.get(503) ?? 0) + (second.get(503) ?? 0), '');
  run.measure('reads that timed out', late, '');
  run.measure('keys added', added.length, '');
  // The heap grows to the size that the load needs. Growth in the second half is a leak.
  const grownLateMib = (residentBytes(gateway.pid) - rssHalf) / MIB;
  run.measure('resident memory grown by', grownMib, 'MiB');
  run.measure('growth in the second half', grownLateMib, 'MiB');
  run.measure('p99 of a read before', quietMs, 'ms');
  run.measure('p99 of a read during', busyMs, 'ms');
  if (run.isLong && grownLateMib > 32)
    throw new Error(`${grownLateMib} MiB more after the second half of the requests`);
  if ((await api.read(elicitationId)).body.status !== 'pending') throw new Error('the existing elicitation is gone');
}

async function untilStill(keys: () => Promise<Set<string>>): Promise<void> {
  let last = await keys();
  let since = performance.now();
  await until('no further writes', async () => {
    const now = await keys();
    const isSame = now.size === last.size && [...now].every(key => last.has(key));
    if (!isSame) since = performance.now();
    last = now;
    return performance.now() - since > 3_000;
  });
}

function residentBytes(pid: number | undefined): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

export const randomIds: Scenario = {
  item: 'L4',
  name: 'anonymous requests for random ids: nothing is written, and real ids are served',
  timeoutMs: 3_600_000,
  run,
};
