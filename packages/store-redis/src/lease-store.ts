import type { Keys } from './keys.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf } from './reply.ts';

/**
 * What one replica at a time does. A lease ends by itself, so a killed holder is followed by another; hence whatever is done
 * under it must be harmless when two do it.
 */
export class LeaseStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** True when the holder has it from now on for `leaseMs`, whether it had it before or not. @throws StoreUnavailableError */
  async take(p: { readonly name: string; readonly holder: string; readonly leaseMs: number }): Promise<boolean> {
    const values = [this.#link.clock(), p.holder, p.leaseMs];
    const reply = await this.#link.run('takeLease', [this.#keys.lease(p.name)], values, { repeatable: true });
    return listOf(reply)[0] === 'taken';
  }

  /** Does nothing where somebody else has it. @throws StoreUnavailableError */
  async release(p: { readonly name: string; readonly holder: string }): Promise<void> {
    await this.#link.run('releaseLease', [this.#keys.lease(p.name)], [p.holder], { repeatable: true });
  }
}
