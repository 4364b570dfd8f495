import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Elicitation } from '@postern/elicitation';
import { createRedisStores, type RedisStores } from '@postern/store-redis';
import { kindSamples, samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import type { FaultRun, Scenario } from '../../scenario.ts';

const { created, expire, operation, somebody } = samples;
const { answer, askFor } = kindSamples;

const TTL_MS = 500;
/** Concurrent races: few enough for the machine to be idle between two attempts. */
const AT_ONCE = 10;
/** Maximum distance between an approval and the expiry, in either direction. */
const AROUND_MS = 60;
const WRONG_BY_MS = 600_000;

/** Approval and expiry race repeatedly, while the clock of this process is ten minutes off. */
const lastMoment: Scenario = {
  item: 'R11',
  name: 'approval at the moment of expiry: exactly one of them, by the clock of Redis alone',
  async run(run) {
    const redis = run.stack.use(await startRedis());
    const approver = run.stack.use(await createRedisStores({ url: redis.url }));
    const sweeper = run.stack.use(await createRedisStores({ url: redis.url }));
    run.stack.use(wrongClock(run.random.pick([-WRONG_BY_MS, WRONG_BY_MS])));
    const ends: string[] = [];
    for (let wave = 0; wave < (run.isLong ? 40 : 5); wave += 1) {
      const races = Array.from({ length: AT_ONCE }, (_, n) => run.random.fork(`race ${wave} ${n}`));
      ends.push(...(await Promise.all(races.map(random => race(random, approver, sweeper)))));
    }
    const approved = ends.filter(end => end === 'completed').length;
    run.measure('approved', approved, '');
    run.measure('expired', ends.length - approved, '');
  },
};

async function race(random: FaultRun['random'], approver: RedisStores, sweeper: RedisStores): Promise<string> {
  const current = await created(approver.elicitations, { ...askFor('confirmation', somebody()), ttlMs: TTL_MS });
  const [isApproved, isExpired] = await Promise.all([
    approve(approver, current, random.below(2 * AROUND_MS) - AROUND_MS),
    expireAtLast(sweeper, current),
  ]);
  const end = await approver.elicitations.read(current.elicitationId);
  assert.notEqual(isApproved, isExpired, 'exactly one of the two happened');
  assert.ok(end !== undefined && 'endedAt' in end);
  assert.equal(end.status, isApproved ? 'completed' : 'expired');
  assert.equal(end.version, 2);
  assert.equal(end.endedAt < current.expiresAt, isApproved, 'by the clock of Redis');
  return end.status;
}

async function approve({ elicitations }: RedisStores, current: Elicitation, lateMs: number): Promise<boolean> {
  await untilOver(current, lateMs);
  const { result } = await elicitations.transition({ current, operationId: operation(), ...answer(current) });
  return result === 'applied';
}

/** Expires the elicitation like a sweep that runs too early and runs again. */
async function expireAtLast({ elicitations }: RedisStores, current: Elicitation): Promise<boolean> {
  await untilOver(current, -AROUND_MS);
  for (;;) {
    const { result } = await elicitations.transition({ current, operationId: operation(), ...expire });
    if (result !== 'untimely') return result === 'applied';
    await delay(1);
  }
}

/** The correct time, taken before the clock is changed. Redis runs on this machine and uses it. */
const { now: machineTime } = Date;

async function untilOver({ expiresAt }: Elicitation, lateMs: number): Promise<void> {
  await delay(Math.max(expiresAt + lateMs - machineTime(), 0));
}

/** Changes the clock of this process until disposed. */
function wrongClock(byMs: number): Disposable {
  Date.now = () => machineTime() + byMs;
  return {
    [Symbol.dispose]() {
      Date.now = machineTime;
    },
  };
}

export const lastMoments: readonly Scenario[] = [lastMoment];
