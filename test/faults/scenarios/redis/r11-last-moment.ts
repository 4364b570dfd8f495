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
/** So many races at once: few enough for the machine to be idle between two attempts. */
const AT_ONCE = 10;
/** Approvals come within so much of the end, on either side of it. */
const AROUND_MS = 60;
const WRONG_BY_MS = 600_000;

/** Approving and expiring meet at the very end of the time, again and again, and the clock here is wrong by ten minutes. */
const lastMoment: Scenario = {
  item: 'R11',
  name: 'approved at the very moment at which it is over: one or the other, by the clock of Redis and nobody else',
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
  assert.notEqual(isApproved, isExpired, 'one of them has happened, and not both');
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

/** As a sweeper does whose look comes too early, and comes again. */
async function expireAtLast({ elicitations }: RedisStores, current: Elicitation): Promise<boolean> {
  await untilOver(current, -AROUND_MS);
  for (;;) {
    const { result } = await elicitations.transition({ current, operationId: operation(), ...expire });
    if (result !== 'untimely') return result === 'applied';
    await delay(1);
  }
}

/** The right time, before it is made a wrong one: that of this machine, on which Redis runs as well. */
const { now: machineTime } = Date;

async function untilOver({ expiresAt }: Elicitation, lateMs: number): Promise<void> {
  await delay(Math.max(expiresAt + lateMs - machineTime(), 0));
}

/** The time of this process is another one until disposed of. */
function wrongClock(byMs: number): Disposable {
  Date.now = () => machineTime() + byMs;
  return {
    [Symbol.dispose]() {
      Date.now = machineTime;
    },
  };
}

export const lastMoments: readonly Scenario[] = [lastMoment];
