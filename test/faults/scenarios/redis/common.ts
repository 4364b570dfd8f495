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

/** Maximum time from Redis being available to the gateways being ready, from the catalogue. */
export const RECOVERY_MS = 5_000;

/** Two gateways on one Redis, with all their dependencies. */
export async function startPair(
  run: FaultRun,
  redis: NonNullable<GatewayConfigInput['redis']>,
  options: Omit<FaultWorldOptions, 'redis'> & { readonly hasRedisLink?: boolean } = {},
): Promise<Pair> {
  const { hasRedisLink = false, ...worldOptions } = options;
  const world = await startFaultWorld(run, { ...worldOptions, redis });
  // One by one: starting a gateway uses most of a small machine.
  const a = await world.startGateway('a', { hasRedisLink });
  const b = await world.startGateway('b', { hasRedisLink });
  return { world, gateways: [a, b], addresses: [a.address, b.address] };
}

export function note({ history }: FaultRun, fault: string, target = 'redis'): void {
  history.record({ who: 'harness', what: 'fault', fault, target });
}

/** Waits until both gateways are ready. Asserts the limit of the catalogue in timed runs. */
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

/** Asserts that 503 is the only failure in all responses. */
export function expectOnlyUnavailable({ history }: FaultRun): void {
  const others = new Set<string>();
  for (const entry of history.entries)
    if (entry.what === 'response' && entry.http !== undefined && entry.http >= 500 && entry.http !== 503)
      others.add(`${entry.http} ${entry.code ?? ''}`);
  assert.deepEqual([...others], []);
}

/** Counts responses with 503. */
export function unavailableAnswers({ history }: FaultRun): number {
  return history.entries.filter(entry => entry.what === 'response' && entry.http === 503).length;
}

/** Counts elicitations whose observed end was lost later. */
export function lostOutcomes({ history }: FaultRun): number {
  const broken = check(history.entries).filter(({ invariant }) => invariant === 'I1' || invariant === 'I2');
  return new Set(broken.map(({ elicitationId }) => elicitationId)).size;
}
