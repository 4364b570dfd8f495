import { setTimeout as delay } from 'node:timers/promises';
import { type Crash, type CrashPointName, crashAt } from '../../crash-points.ts';
import { type FaultGateway, type FaultWorld, type FaultWorldOptions, startFaultWorld } from '../../fault-world.ts';
import { HANG_MS } from '../../hang.ts';
import type { FaultRun } from '../../scenario.ts';
import { startTraffic, type Traffic, type TrafficOptions } from '../../traffic.ts';

/** Two gateways that can be killed at points in their Redis traffic, with traffic at both. */
export interface Stricken {
  readonly world: FaultWorld;
  readonly gateways: readonly FaultGateway[];
  readonly traffic: Traffic;
}

export async function startStricken(
  run: FaultRun,
  options: { readonly world?: FaultWorldOptions; readonly traffic?: Partial<TrafficOptions> } = {},
): Promise<Stricken> {
  const world = await startFaultWorld(run, options.world);
  const gateways = await Promise.all(['a', 'b'].map(name => world.startGateway(name, { hasRedisLink: true })));
  const traffic = await startTraffic(run, { world, ...options.traffic });
  return { world, gateways, traffic };
}

/** @throws if the traffic does not reach the point */
export async function reached<T>(what: string, happens: Promise<T>): Promise<T> {
  const bound = new AbortController();
  const late = delay(HANG_MS, undefined, { signal: bound.signal }).then(() =>
    Promise.reject(new Error(`the traffic did not reach this point: ${what}`)),
  );
  late.catch(() => undefined);
  try {
    return await Promise.race([happens, late]);
  } finally {
    bound.abort();
  }
}

/** Repeats: kills a gateway at the point, lets the traffic continue, restarts the gateway. */
export async function killRepeatedly(
  run: FaultRun,
  { gateways, traffic }: Stricken,
  points: readonly CrashPointName[],
  rounds: number,
): Promise<Crash[]> {
  const crashes: Crash[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const point = points[round % points.length] ?? run.random.pick(points);
    const crash = await reached(point, crashAt(gateways, point, run.random.between(1, 4)));
    crashes.push(crash);
    await traffic.more(run.random.between(3, 8));
    await crash.gateway.restart();
  }
  run.measure('kills', crashes.length, '');
  return crashes;
}

/** Returns the final status of each elicitation. */
export function finalsOf({ history }: FaultRun): ReadonlyMap<string, string> {
  const finals = new Map<string, string>();
  for (const entry of history.entries)
    if (entry.what === 'final' && entry.status !== undefined) finals.set(entry.elicitationId, entry.status);
  return finals;
}
