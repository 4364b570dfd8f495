import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';
import { orphanKeys } from './orphan-keys.ts';

const LONG_MS = 10 * 60_000;
const SHORT_MS = 8_000;
const TTL_S = 10;

interface Sample {
  readonly minutes: number;
  readonly rssMib: number;
  readonly redisMib: number;
}

/** Traffic with bounded concurrency, part of which expires, for as long as the run lasts. */
async function soak(run: FaultRun): Promise<void> {
  const world = await startFaultWorld(run);
  const gateway = await world.startGateway('a');
  const redisUrl = world.world.redis.url;
  const redis = new Redis(redisUrl);
  run.stack.defer(() => redis.disconnect());
  const traffic = await startTraffic(run, { world, concurrency: run.isLong ? 8 : 4, ttlSeconds: TTL_S });
  const began = performance.now();
  const length = run.isLong ? LONG_MS : SHORT_MS;
  const samples: Sample[] = [];
  while (performance.now() - began < length) {
    samples.push({
      minutes: (performance.now() - began) / 60_000,
      rssMib: await rssOf(gateway.pid ?? 0),
      redisMib: Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]) / 2 ** 20,
    });
    await delay(length / 40);
  }
  await traffic.settle({ untilExpired: true });
  // Only the second half: all modules are loaded by then. A run of seconds only warms up the heap, so it has no slope.
  const late = samples.slice(samples.length / 2);
  run.measure('gateway memory', late.at(-1)?.rssMib ?? 0, 'MiB');
  if (run.isLong)
    run.measure('gateway memory slope', slope(late.map(({ minutes, rssMib }) => [minutes, rssMib])), 'MiB/min');
  run.measure(
    'Redis per flow',
    (((samples.at(-1)?.redisMib ?? 0) - (samples[0]?.redisMib ?? 0)) * 1024) / Math.max(1, traffic.ended),
    'KiB',
  );
  const orphans = await orphanKeys(redisUrl);
  if (orphans.length > 0) throw new Error(`${orphans.length} orphans: ${orphans.slice(0, 5).join('; ')}`);
}

async function rssOf(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Slope of the least-squares line. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(points.map(([at]) => at));
  const y = mean(points.map(([, value]) => value));
  const above = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
  return above / points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
}

export const soaks: readonly Scenario[] = [
  {
    item: 'L5',
    name: 'mixed traffic with expiries: memory stays constant, and no key is left over',
    timeoutMs: LONG_MS + 300_000,
    run: soak,
  },
];
