import assert from 'node:assert/strict';
import type { GatewayConfigInput } from '@postern/gateway';
import { check } from '../../checker.ts';
import { type FaultGateway, type FaultWorld, type FaultWorldOptions, startFaultWorld } from '../../fault-world.ts';
import { HANG_MS } from '../../hang.ts';
import type { FaultRun } from '../../scenario.ts';
import { untilReady } from '../../traffic/settle.ts';

export interface Pair {
  readonly world: FaultWorld;
  readonly gateways: readonly [FaultGateway, FaultGateway];
  readonly addresses: readonly string[];
}

/** The bound of the catalogue for being of use again, from the moment on at which Redis is. */
export const RECOVERY_MS = 5_000;

/** Two gateways on one Redis, with everything around them. */
export async function startPair(
  run: FaultRun,
  redis: NonNullable<GatewayConfigInput['redis']>,
  options: Omit<FaultWorldOptions, 'redis'> & { readonly hasRedisLink?: boolean } = {},
): Promise<Pair> {
  const { hasRedisLink = false, ...worldOptions } = options;
  const world = await startFaultWorld(run, { ...worldOptions, redis });
  // One after the other: starting is what takes the most of a small machine.
  const a = await world.startGateway('a', { hasRedisLink });
  const b = await world.startGateway('b', { hasRedisLink });
  return { world, gateways: [a, b], addresses: [a.address, b.address] };
}

export function note({ history }: FaultRun, fault: string, target = 'redis'): void {
  history.record({ who: 'harness', what: 'fault', fault, target });
}

/** Both are ready, within the bound of the catalogue where time is judged. */
export async function expectRecovered(
  run: FaultRun,
  addresses: readonly string[],
  name = 'ready again',
): Promise<void> {
  const began = performance.now();
  await untilReady(addresses, run.isTimed ? RECOVERY_MS : HANG_MS);
  run.measure(name, performance.now() - began, 'ms');
}

export async function isReady(address: string): Promise<boolean> {
  const answer = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(15_000) });
  await answer.body?.cancel();
  return answer.status === 200;
}

/** Nobody was ever told of another trouble than "not now": 503 is the only failure that an answer may name. */
export function expectOnlyUnavailable({ history }: FaultRun): void {
  const others = new Set<string>();
  for (const entry of history.entries)
    if (entry.what === 'response' && entry.http !== undefined && entry.http >= 500 && entry.http !== 503)
      others.add(`${entry.http} ${entry.code ?? ''}`);
  assert.deepEqual([...others], []);
}

/** How often "not now" was said. */
export function unavailableAnswers({ history }: FaultRun): number {
  return history.entries.filter(entry => entry.what === 'response' && entry.http === 503).length;
}

/** Elicitations of which somebody was told something that did not stay true. */
export function lostOutcomes({ history }: FaultRun): number {
  const broken = check(history.entries).filter(({ invariant }) => invariant === 'I1' || invariant === 'I2');
  return new Set(broken.map(({ elicitationId }) => elicitationId)).size;
}
