import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createKeys } from './keys.ts';
import type { JobProgress } from './redis-job-store.ts';
import { createRedisStores, type RedisStores } from './redis-stores.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const clock = createFakeClock();
let server: RedisServer;
let stores: RedisStores;
let prefix: string;
let round = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await stores.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await stores?.close();
  round += 1;
  prefix = `jobs-${round}`;
  stores = await createRedisStores({ url: server.url, prefix, now: clock.now });
});

const about = { verb: 'disconnect', target: { subject: 'pseudonym', since: 7 }, by: 'olga', door: 'console' } as const;
const progress: JobProgress = {
  ...{ found: 3, done: 1, unreadable: 0, share: 0.5, cursor: 'scan', pending: ['a', 'b'], failures: 1, error: 'oops' },
};
async function started(jobId = `jb_${samples.operation()}`) {
  const person = samples.somebody();
  const createdAt = await stores.jobs.start({ jobId, about, person });
  return { jobId, about, person, createdAt };
}
const claim = (jobId: string, holder = 'a') => stores.jobs.claim({ jobId, holder, leaseMs: MINUTE });

test('S146: a started job waits, and a repeat of the start changes nothing', async () => {
  const { jobId, person, createdAt } = await started();
  clock.advance(1);
  expect(await stores.jobs.start({ jobId, about, person })).toBe(createdAt);
  expect(await stores.jobs.unfinished()).toEqual([jobId]);
  expect(await stores.jobs.read(jobId)).toEqual({
    ...{ jobId, about, person, createdAt, updatedAt: createdAt, isHeld: false },
  });
});

test('S146: one of many replicas claims a job, and another only after the lease', async () => {
  const { jobId } = await started();
  const claims = await Promise.all(Array.from({ length: 20 }, (_, at) => claim(jobId, `replica ${at}`)));
  expect(claims.filter(job => job !== undefined)).toHaveLength(1);
  clock.advance(MINUTE - 1);
  expect(await claim(jobId, 'late')).toBeUndefined();
  clock.advance(1);
  expect(await claim(jobId, 'late')).toMatchObject({ jobId, isHeld: true });
});

test('S146: only the holder of the lease moves or ends a job', async () => {
  const { jobId } = await started();
  await claim(jobId);
  clock.advance(MINUTE);
  await claim(jobId, 'b');
  expect(await stores.jobs.move({ jobId, holder: 'a', leaseMs: MINUTE, progress })).toBe(false);
  expect(await stores.jobs.end({ jobId, holder: 'a', status: 'done', progress })).toBe(false);
  expect((await stores.jobs.read(jobId))?.progress).toBeUndefined();
  expect(await stores.jobs.move({ jobId, holder: 'b', leaseMs: MINUTE, progress })).toBe(true);
  expect(await claim(jobId, 'a')).toBeUndefined();
  expect(await stores.jobs.move({ jobId, holder: 'b', leaseMs: 0, progress })).toBe(true);
  expect(await claim(jobId, 'a')).toMatchObject({ progress });
});

test('an ended job stays for 30 days without its person, and nothing changes it', async () => {
  const { jobId } = await started();
  await claim(jobId);
  expect(await stores.jobs.end({ jobId, holder: 'a', status: 'done', progress })).toBe(true);
  expect(await stores.jobs.end({ jobId, status: 'cancelled' })).toBe(false);
  expect(await stores.jobs.move({ jobId, holder: 'a', leaseMs: MINUTE, progress })).toBe(false);
  expect(await claim(jobId)).toBeUndefined();
  expect(await stores.jobs.unfinished()).toEqual([]);
  expect(await stores.jobs.ended(10)).toEqual([jobId]);
  const job = await stores.jobs.read(jobId);
  expect(job).toMatchObject({ ended: { status: 'done' }, progress, isHeld: false });
  expect(job).not.toHaveProperty('person');
  const keys = createKeys(prefix);
  for (const key of [keys.job(jobId), keys.endedJobs])
    expect(Number(await server.ask('PTTL', key))).toBeGreaterThan(29 * DAY);
});

test('an operator ends a job without its lease', async () => {
  const { jobId } = await started();
  await claim(jobId);
  await stores.jobs.move({ jobId, holder: 'a', leaseMs: MINUTE, progress });
  expect(await stores.jobs.end({ jobId, status: 'cancelled' })).toBe(true);
  expect(await stores.jobs.move({ jobId, holder: 'a', leaseMs: MINUTE, progress })).toBe(false);
  expect(await stores.jobs.read(jobId)).toMatchObject({ progress, ended: { status: 'cancelled' } });
  expect(await stores.jobs.end({ jobId: 'jb_unknown', status: 'cancelled' })).toBe(false);
});

test('refuses the hundred and first unfinished job', async () => {
  for (let at = 0; at < 100; at += 1) await started();
  const late = await started();
  expect(late.createdAt).toBeUndefined();
  expect(await stores.jobs.read(late.jobId)).toBeUndefined();
});

test('refuses the name of another key', async () => {
  await expect(stores.jobs.read('jb_x}:audit')).rejects.toThrow(TypeError);
});
