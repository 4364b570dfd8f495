import type { LeaseStore } from '@postern/elicitation';
import { RedisPort } from './redis-link.ts';
import { listOf } from './script.ts';

/** One key per lease, with the holder as its value. */
export class RedisLeaseStore extends RedisPort implements LeaseStore {
  async take(p: Parameters<LeaseStore['take']>[0]): Promise<boolean> {
    const lease = this.keys.lease(p.name);
    const reply = await this.repeatable('takeLease', { lease }, { holder: p.holder, leaseMs: p.leaseMs });
    return listOf(reply)[0] === 'taken';
  }

  async release(p: Parameters<LeaseStore['release']>[0]): Promise<void> {
    await this.repeatable('releaseLease', { lease: this.keys.lease(p.name) }, { holder: p.holder });
  }
}
