import type { JobProgress } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { freshSuite, suite } from './contract-stores.ts';
import { MINUTE, operation, somebody } from './samples.ts';

const about = { verb: 'disconnect', target: { subject: 'pseudonym', since: 7 }, by: 'olga', door: 'console' } as const;
const progress: JobProgress = {
  found: 3,
  done: 1,
  unreadable: 0,
  share: 0.5,
  cursor: 'scan',
  pending: ['a', 'b'],
  failures: 1,
  error: 'oops',
};

export const describeJobStore = freshSuite('jobs', stores => {
  async function started(jobId = `jb_${operation()}`) {
    const person = somebody();
    const createdAt = await stores.jobs.start({ jobId, about, person });
    return { jobId, about, person, createdAt };
  }
  const claim = (jobId: string, holder = 'a') => stores.jobs.claim({ jobId, holder, leaseMs: MINUTE });

  test('S146: a started job waits, and a repeat of the start changes nothing', async () => {
    const { jobId, person, createdAt } = await started();
    stores.clock.advance(1);
    expect(await stores.jobs.start({ jobId, about, person })).toBe(createdAt);
    expect(await stores.jobs.unfinished()).toEqual([jobId]);
    expect(await stores.jobs.read(jobId)).toEqual({
      jobId,
      about,
      person,
      createdAt,
      updatedAt: createdAt,
      isHeld: false,
    });
  });

  test('S146: one of many replicas claims a job, and another only after the lease', async () => {
    const { jobId } = await started();
    const claims = await Promise.all(Array.from({ length: 20 }, (_, at) => claim(jobId, `replica ${at}`)));
    expect(claims.filter(job => job !== undefined)).toHaveLength(1);
    stores.clock.advance(MINUTE - 1);
    expect(await claim(jobId, 'late')).toBeUndefined();
    stores.clock.advance(1);
    expect(await claim(jobId, 'late')).toMatchObject({ jobId, isHeld: true });
  });

  test('S146: only the holder of the lease moves or ends a job', async () => {
    const { jobId } = await started();
    await claim(jobId);
    stores.clock.advance(MINUTE);
    await claim(jobId, 'b');
    expect(await stores.jobs.move({ jobId, holder: 'a', leaseMs: MINUTE, progress })).toBe(false);
    expect(await stores.jobs.end({ jobId, holder: 'a', status: 'done', progress })).toBe(false);
    expect((await stores.jobs.read(jobId))?.progress).toBeUndefined();
    expect(await stores.jobs.move({ jobId, holder: 'b', leaseMs: MINUTE, progress })).toBe(true);
    expect(await claim(jobId, 'a')).toBeUndefined();
    expect(await stores.jobs.move({ jobId, holder: 'b', leaseMs: 0, progress })).toBe(true);
    expect(await claim(jobId, 'a')).toMatchObject({ progress });
  });

  test('an ended job stays without its person, and nothing changes it', async () => {
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
    expect(job?.person).toBeUndefined();
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
});

/** LeaseStore. */
export const describeLeaseStore = suite('leases', stores => {
  const take = (holder: string, name = operation()) => stores.leases.take({ name, holder, leaseMs: 30_000 });

  test('a lease has one holder until it expires, then another', async () => {
    const name = operation();
    expect(await take('a', name)).toBe(true);
    expect(await take('b', name)).toBe(false);
    stores.clock.advance(29_999);
    expect(await take('b', name)).toBe(false);
    expect(await take('a', name)).toBe(true);
    stores.clock.advance(29_999);
    expect(await take('b', name)).toBe(false);
    stores.clock.advance(1);
    expect(await take('b', name)).toBe(true);
    expect(await take('a', name)).toBe(false);
  });

  test('exactly one of many concurrent callers takes the lease', async () => {
    const name = operation();
    const taken = await Promise.all(Array.from({ length: 50 }, (_, at) => take(`holder ${at}`, name)));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });

  test('only the holder releases a lease', async () => {
    const name = operation();
    await take('a', name);
    await stores.leases.release({ name, holder: 'b' });
    expect(await take('b', name)).toBe(false);
    await stores.leases.release({ name, holder: 'a' });
    expect(await take('b', name)).toBe(true);
  });

  test('leases with different names are independent', async () => {
    expect(await take('a')).toBe(true);
    expect(await take('b')).toBe(true);
  });
});
