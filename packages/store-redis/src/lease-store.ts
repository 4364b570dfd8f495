import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf } from './reply.ts';

/**
 * Leases for work that one replica does at a time. A lease expires, so another replica takes over from a killed holder. Work
 * under a lease must therefore be safe even if two replicas do it.
 */
export class LeaseStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** Returns true if the holder now has the lease for `leaseMs`, new or extended. @throws StoreUnavailableError */
  async take(p: { readonly name: string; readonly holder: string; readonly leaseMs: number }): Promise<boolean> {
    const values = [this.#link.clock(), p.holder, p.leaseMs];
    const reply = await this.#link.run('takeLease', [this.#keys.lease(p.name)], values, { repeatable: true });
    return listOf(reply)[0] === 'taken';
  }

  /** Does nothing if another holder has the lease. @throws StoreUnavailableError */
  async release(p: { readonly name: string; readonly holder: string }): Promise<void> {
    await this.#link.run('releaseLease', [this.#keys.lease(p.name)], [p.holder], { repeatable: true });
  }
}
