import { Cluster, Command, type Redis } from 'ioredis';
import { ConfirmationRules } from './confirmed-commands.ts';
import { DEFAULT_CONFIRM_MS, DEFAULT_REPLICAS, type DurabilityOptions } from './durability.ts';
import { fenceBeside } from './keys.ts';
import { type ConfirmationOptions, MasterConfirmation } from './master-confirmation.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import { UnsafeRedisError } from './unsafe-redis-error.ts';

/** The confirmation that a profile requires. Undefined for profiles that do not wait for replicas. */
export function confirmationOf(
  redis: Redis | Cluster,
  durability: DurabilityOptions | undefined,
  options: Pick<ConfirmationOptions, 'commandTimeoutMs' | 'observe'>,
): Confirmation | undefined {
  if (durability?.profile !== 'ha') return undefined;
  const { replicas = DEFAULT_REPLICAS, timeoutMs = DEFAULT_CONFIRM_MS } = durability;
  return new Confirmation(redis, { ...options, replicas, timeoutMs });
}

/** A command about to be sent to a known master. */
export interface Sending {
  readonly master: Redis;
  /** Resolves when enough replicas have everything that this master had done by its reply. Call it after the reply. */
  confirm(): Promise<void>;
}

/**
 * Confirms that replicas have the data behind a master's reply (profile `ha`).
 *
 * WAIT covers only the writes of its own connection. It says nothing about a record that another connection wrote, even if that
 * was the first attempt of the same call. So each WAIT follows a write on its own connection, the fence: replication is one
 * stream, so a replica that has the fence has everything before it. The fence must go to the process that sent the reply,
 * identified by its run id. A replica promoted in between would confirm its own fence but might lack the earlier data.
 *
 * For the same reason, commands on a cluster go to the master that the slot map names, without redirection by ioredis.
 */
export class Confirmation {
  readonly #redis: Redis | Cluster;
  readonly #options: ConfirmationOptions;
  readonly #masters = new Map<Redis, MasterConfirmation>();
  readonly #slots = new Map<string, number>();
  readonly rules: ConfirmationRules;

  constructor(redis: Redis | Cluster, options: ConfirmationOptions) {
    this.#redis = redis;
    this.#options = options;
    this.rules = new ConfirmationRules();
  }

  /** @throws RedisFault `no_master` if no connected master is known for the key */
  prepare(key: string): Sending {
    const master = this.#masterOf(key);
    const sent = this.#confirmationOf(master).begin();
    return { master, confirm: () => sent.confirm(fenceBeside(key)) };
  }

  /**
   * Checks that confirmation works on every master that has one of these keys. A replica that has just come back catches up first.
   * @param withinMs for which an unconfirmed probe is repeated
   * @throws UnsafeRedisError, StoreUnavailableError
   */
  async probe(keys: readonly string[], withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    for (;;) {
      try {
        const byMaster = new Map(keys.map(key => this.prepare(key)).map(sending => [sending.master, sending]));
        await Promise.all([...byMaster.values()].map(sending => sending.confirm()));
        return;
      } catch (error) {
        const fault = faultOf(error);
        if (fault.kind !== 'unconfirmed') throw storeErrorOf(fault);
        if (performance.now() < until) continue;
      }
      const { replicas, timeoutMs } = this.#options;
      throw new UnsafeRedisError(
        'replicas',
        `Redis did not confirm within ${timeoutMs} ms that ${replicas} replica(s) have a write (durability profile ha). Look ` +
          'after the replicas, or raise durability.timeoutMs.',
      );
    }
  }

  /** Refreshes the slot map after a redirection or a lost master. Does nothing without a cluster. */
  async refresh(): Promise<void> {
    const redis = this.#redis;
    if (!(redis instanceof Cluster) || redis.status !== 'ready') return;
    await new Promise<void>(resolve => redis.refreshSlotsCache(() => resolve()));
    // ioredis does not connect a new node until a command needs it. That command reports an unreachable node.
    const found = redis.nodes('master').filter(({ status }) => status === 'wait');
    await Promise.allSettled(found.map(node => node.connect()));
  }

  /** Leaves the connections to masters after a fail-over. */
  leaveMasters(): void {
    for (const confirmation of this.#masters.values()) confirmation.leave();
  }

  close(): void {
    for (const confirmation of this.#masters.values()) confirmation.close();
    this.#masters.clear();
  }

  #masterOf(key: string): Redis {
    const redis = this.#redis;
    if (!(redis instanceof Cluster)) return redis;
    const name = redis.slots[this.#slotOf(key)]?.[0];
    const master = redis.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === name);
    if (master?.status !== 'ready') throw new RedisFault('refused', 'no_master');
    return master;
  }

  /** Cached by hash tag; there are few. */
  #slotOf(key: string): number {
    const tag = key.slice(0, key.indexOf('}') + 1);
    const known = this.#slots.get(tag);
    if (known !== undefined) return known;
    const slot = new Command('get', [key]).getSlot();
    this.#slots.set(tag, slot);
    return slot;
  }

  #confirmationOf(master: Redis): MasterConfirmation {
    const known = this.#masters.get(master);
    if (known !== undefined) return known;
    const confirmation = new MasterConfirmation(master, this.#options);
    this.#masters.set(master, confirmation);
    // ioredis never reconnects the same object of a cluster node.
    master.once('end', () => {
      confirmation.close();
      this.#masters.delete(master);
    });
    return confirmation;
  }
}
