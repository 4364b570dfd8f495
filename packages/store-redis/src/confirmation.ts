import { Cluster, Command, type Redis } from 'ioredis';
import { UnsafeRedisError } from './assert-safe-redis.ts';
import { ConfirmationRules } from './confirmed-commands.ts';
import { DEFAULT_CONFIRM_MS, DEFAULT_REPLICAS, type DurabilityOptions } from './durability.ts';
import { fenceBeside } from './keys.ts';
import { MasterConfirmation } from './master-confirmation.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import type { CommandObserver } from './redis-link.ts';

export interface ConfirmationOptions {
  readonly replicas: number;
  readonly timeoutMs: number;
  /** As of every command. */
  readonly commandTimeoutMs: number;
  readonly observe?: CommandObserver | undefined;
}

/** What a profile asks for; undefined where replicas are not waited for. */
export function confirmationOf(
  redis: Redis | Cluster,
  durability: DurabilityOptions | undefined,
  options: Pick<ConfirmationOptions, 'commandTimeoutMs' | 'observe'>,
): Confirmation | undefined {
  if (durability?.profile !== 'ha') return undefined;
  const { replicas = DEFAULT_REPLICAS, timeoutMs = DEFAULT_CONFIRM_MS } = durability;
  return new Confirmation(redis, { ...options, replicas, timeoutMs });
}

/** A command that is about to be sent, and to whom. */
export interface Sending {
  readonly master: Redis;
  /** Resolves when enough replicas have everything that this master had done when it answered. Call it after the answer. */
  confirm(): Promise<void>;
}

/**
 * Confirms that replicas have what a master has answered with (profile `ha`).
 *
 * WAIT speaks about the writes of its own connection only, and says nothing about a record that somebody else wrote, or that a
 * first try wrote over a connection since lost. So it follows a write of its own, the fence: replication is one stream, and
 * whoever has the fence has everything before it. It goes to the very process that answered, known by its run id, because a
 * replica that was promoted in between would confirm its own fence and know nothing of the rest.
 *
 * On a cluster commands go to the master that the slot map names, without redirection by ioredis, for the same reason.
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
    this.rules = new ConfirmationRules(redis instanceof Cluster);
  }

  /** @throws RedisFault `no_master` where none is known and connected that has the key. */
  prepare(key: string): Sending {
    const master = this.#masterOf(key);
    const sent = this.#confirmationOf(master).begin();
    return { master, confirm: () => sent.confirm(fenceBeside(key)) };
  }

  /**
   * Whether confirming works at all, on every master that has one of these keys.
   * @throws UnsafeRedisError, StoreUnavailableError
   */
  async probe(keys: readonly string[]): Promise<void> {
    try {
      const byMaster = new Map(keys.map(key => this.prepare(key)).map(sending => [sending.master, sending]));
      await Promise.all([...byMaster.values()].map(sending => sending.confirm()));
    } catch (error) {
      const fault = faultOf(error);
      if (fault.kind !== 'unconfirmed') throw storeErrorOf(fault);
      const { replicas, timeoutMs } = this.#options;
      throw new UnsafeRedisError(
        'replicas',
        `Redis did not confirm within ${timeoutMs} ms that ${replicas} replica(s) have a write (durability profile ha). Look ` +
          'after the replicas, or raise durability.timeoutMs.',
      );
    }
  }

  /** Looks anew where the slots are, after a redirection or a lost master. Nothing to do elsewhere. */
  async refresh(): Promise<void> {
    const redis = this.#redis;
    if (!(redis instanceof Cluster) || redis.status !== 'ready') return;
    await new Promise<void>(resolve => redis.refreshSlotsCache(() => resolve()));
    // A node that was just found is not connected by itself. One that cannot be is found out by whoever needs it.
    const found = redis.nodes('master').filter(({ status }) => status === 'wait');
    await Promise.allSettled(found.map(node => node.connect()));
  }

  /** There is another master. */
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

  /** By hash tag, of which there are few. */
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
    // A node of a cluster is never connected again by the same object.
    master.once('end', () => {
      confirmation.close();
      this.#masters.delete(master);
    });
    return confirmation;
  }
}
