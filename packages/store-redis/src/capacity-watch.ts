import { SHARDS } from '@postern/elicitation';
import { Cluster, Command, type Redis } from 'ioredis';
import { mastersOf } from './assert-safe-redis.ts';
import type { Keys } from './keys.ts';
import { faultOf } from './redis-fault.ts';
import type { StoreGuard } from './redis-link.ts';

/** Whether Redis accepts writes, and its memory usage. */
export interface RedisCapacity {
  /** Error codes of masters that refused the probe write, sorted. Empty if every master accepts writes. */
  readonly refusals: readonly string[];
  /** Used memory of the fullest master as a share of `maxmemory`. Undefined if no master has a `maxmemory` or none answered. */
  readonly memoryUsed: number | undefined;
}

export interface CapacityWatchOptions {
  readonly redis: Redis | Cluster;
  readonly keys: Keys;
  readonly guard: StoreGuard;
  /** Called after every check. */
  readonly onCapacity: (capacity: RedisCapacity) => void;
}

/** Lifetime of a probe key. Longer than the interval, so each probe overwrites the previous one. */
const PROBE_LIFETIME_MS = 60_000;

/**
 * Writes a meaningless key to each master, because a Redis that is full, read-only or without its disk still answers
 * PING and every read. A readiness request causes no write.
 */
export class CapacityWatch implements Disposable {
  readonly #options: CapacityWatchOptions;
  readonly #slots: ProbeSlots;
  #refusals: readonly string[] = [];
  #isLooking = false;
  #isClosed = false;

  constructor(options: CapacityWatchOptions) {
    this.#options = options;
    this.#slots = probeSlots(options.keys);
  }

  /** Error codes of the last check. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  /** Rejects only with what `onCapacity` throws. */
  async look(): Promise<void> {
    const { redis, guard, onCapacity } = this.#options;
    // Writes nothing to a Redis that has lost its data.
    if (this.#isLooking || guard.isLost || guard.held !== undefined) return;
    this.#isLooking = true;
    try {
      const [refused, used] = await Promise.all([
        Promise.all(probeKeys(redis, this.#slots).map(key => refusalOf(redis, key))),
        Promise.all(mastersOf(redis).map(memoryUsedBy)),
      ]);
      if (this.#isClosed) return;
      const known = used.filter(share => share !== undefined);
      this.#refusals = [...new Set(refused.filter(code => code !== undefined))].sort();
      onCapacity({ refusals: this.#refusals, memoryUsed: known.length === 0 ? undefined : Math.max(...known) });
    } finally {
      this.#isLooking = false;
    }
  }
}

type ProbeSlots = readonly (readonly [slot: number, key: string])[];

/** The probe keys of all shards, with their slots. */
export function probeSlots(keys: Keys): ProbeSlots {
  return SHARDS.map(shard => {
    const key = keys.probe(shard);
    return [new Command('get', [key]).getSlot(), key];
  });
}

/** Returns one probe key per master, as far as the slot map is known. */
export function probeKeys(redis: Redis | Cluster, slots: ProbeSlots): readonly string[] {
  const masterOf = (slot: number) => (redis instanceof Cluster ? redis.slots[slot]?.[0] : 'the only one');
  return [...new Map(slots.map(([slot, key]) => [masterOf(slot), key])).values()];
}

/** Returns the error code with which Redis refuses a write, or undefined. */
export async function refusalOf(redis: Redis | Cluster, key: string): Promise<string | undefined> {
  try {
    await redis.call('SET', key, '', 'PX', String(PROBE_LIFETIME_MS));
    return undefined;
  } catch (error) {
    return faultOf(error).code;
  }
}

/** Returns the used memory as a share of `maxmemory`. Undefined without a limit. */
export async function memoryUsedBy(node: Redis): Promise<number | undefined> {
  const info = await node.info('memory').catch(() => '');
  const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? '0');
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? '0');
  return most === 0 ? undefined : used / most;
}
