import { randomBytes } from 'node:crypto';
import type { RedisStores } from '@postern/store-redis';

/** Starts a job that another replica works on, so that it stays unfinished. */
export async function heldJob(jobs: RedisStores['jobs']): Promise<string> {
  const about = { verb: 'disconnect', target: { provider: 'nowhere' }, by: 'olga', door: 'console' } as const;
  while (true) {
    const jobId = `jb_${randomBytes(16).toString('base64url')}`;
    await jobs.start({ jobId, about });
    if ((await jobs.claim({ jobId, holder: 'another', leaseMs: 600_000 })) !== undefined) return jobId;
  }
}
