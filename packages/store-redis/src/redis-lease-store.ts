import type { LeaseStore } from '@postern/elicitation';
import { RedisPort } from './redis-port.ts';
import { listOf } from './reply.ts';

/** One key per lease, with the holder as its value. */
export class RedisLeaseStore extends RedisPort implements LeaseStore {
  async take(p: Parameters<LeaseStore['take']>[0]): Promise<boolean> {
    const values = [p.holder, p.leaseMs];
    const reply = await this.repeatable('takeLease', [this.keys.lease(p.name)], values);
    return listOf(reply)[0] === 'taken';
  }

  async release(p: Parameters<LeaseStore['release']>[0]): Promise<void> {
    await this.link.run('releaseLease', [this.keys.lease(p.name)], [p.holder], { repeatable: true });
  }
}
