import { StoreUnavailableError } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { assertKeepsData, mastersOf, type SafetyOptions } from './assert-safe-redis.ts';
import { CapacityWatch, type RedisCapacity } from './capacity-watch.ts';
import { type DurabilityChange, UnsafeRedisError, type UnsafeSetting } from './durability.ts';
import type { Keys } from './keys.ts';
import { LossWatch, type LossWatchOptions } from './loss-watch.ts';
import type { RedisEpochs } from './redis-epochs.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import type { CommittedEvents, StoreGuard } from './redis-link.ts';

export interface HealthOptions {
  /** Interval of the checks, in ms. Default 10 seconds. */
  readonly watchMs?: number;
  /** Called when durability is lost and when it is restored. */
  readonly onDurability?: (change: DurabilityChange) => void;
  /** Called every `watchMs` with whether Redis accepts writes, and its memory usage. Without it, no probe is written. */
  readonly onCapacity?: (capacity: RedisCapacity) => void;
  /** Watches for data loss, and refuses every command while data is lost. Default: no watch. */
  readonly lossWatch?: LossWatchOptions;
}

interface HealthParts {
  readonly redis: Redis | Cluster;
  readonly keys: Keys;
  readonly safety: SafetyOptions;
  readonly epochs: RedisEpochs;
  readonly committed: CommittedEvents;
  readonly guard: StoreGuard;
}

const WATCH_MS = 10_000;
/** Number of slots of every Redis Cluster. */
const SLOTS = 16_384;

/**
 * Keeps checking a Redis that met the profile at the start. One timer repeats all checks; they differ in what else makes them run:
 *
 * | check | also runs | while it fails |
 * |---|---|---|
 * | `durability`: masters answer, and keep what they acknowledge | for a response about readiness | not ready |
 * | `data`: the shards have the data of this deployment | at the start, for readiness, after a reconnect | not ready, and every command is refused |
 * | `writes`: masters accept a write | at the start | `refusals`, which readiness may heed |
 *
 * Two listeners act at once instead of checking: `SentinelWatch` leaves a former master, and `WakeUpSubscription` renews itself.
 */
export class RedisHealth implements Disposable {
  readonly #redis: Redis | Cluster;
  readonly #durability: DurabilityCheck;
  readonly #data: LossWatch | undefined;
  readonly #writes: CapacityWatch | undefined;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    parts: HealthParts,
    { watchMs = WATCH_MS, onDurability = () => {}, onCapacity, lossWatch }: HealthOptions,
  ) {
    const { redis, safety } = parts;
    this.#redis = redis;
    this.#durability = new DurabilityCheck({ check: () => assertDurable(redis, safety), onChange: onDurability });
    this.#data = lossWatch && new LossWatch(parts, lossWatch);
    this.#writes = onCapacity && new CapacityWatch({ ...parts, onCapacity });
    this.#intervalMs = watchMs;
  }

  /** Checks for the first time. @throws StoreUnavailableError */
  async start(): Promise<void> {
    await this.#data?.start();
    await this.#writes?.look();
  }

  /** Repeats the checks from now on. */
  watch(): void {
    this.#timer = setInterval(() => {
      void this.#durability.look();
      // No probe is written to a Redis that has lost its data.
      void Promise.resolve(this.#data?.look()).then(() => this.#writes?.look());
    }, this.#intervalMs);
    this.#timer.unref();
    const redis = this.#redis;
    // The new connection may lead to another process.
    if (!(redis instanceof Cluster)) redis.on('ready', () => this.#data?.suspect());
    // Commands to other nodes continue: holding them until the missing node answers would block them too.
    else for (const event of ['ready', '+node', '-node']) redis.on(event, () => void this.#data?.look());
  }

  /** Checks before a response about readiness. @throws UnsafeRedisError, StoreUnavailableError */
  async assertReady(): Promise<void> {
    await this.#durability.check();
    await this.#data?.check();
  }

  /** Error codes of masters that refused a write in the last check. */
  get refusals(): readonly string[] {
    return this.#writes?.refusals ?? [];
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const check of [this.#durability, this.#data, this.#writes]) check?.[Symbol.dispose]();
  }
}

interface DurabilityCheckOptions {
  /** @throws UnsafeRedisError, StoreUnavailableError */
  readonly check: () => Promise<void>;
  /** Called once per change. Durability holds at the start. */
  readonly onChange: (change: DurabilityChange) => void;
}

/**
 * Repeats the start checks, because settings and replicas of Redis can change while it runs. A check without a reply counts only from
 * the second in a row: a process that is busy starting can miss the deadline of a command whose reply has already arrived.
 */
class DurabilityCheck implements Disposable {
  readonly #options: DurabilityCheckOptions;
  #reason: UnsafeSetting | 'unknown' | undefined;
  #isUnanswered = false;
  #isClosed = false;

  constructor(options: DurabilityCheckOptions) {
    this.#options = options;
  }

  /** Never rejects: `onChange` reports failures. */
  look(): Promise<void> {
    return this.check().catch(() => undefined);
  }

  /** @throws UnsafeRedisError, StoreUnavailableError */
  async check(): Promise<void> {
    try {
      await this.#options.check();
    } catch (error) {
      if (error instanceof UnsafeRedisError) {
        this.#note(error.setting);
        throw error;
      }
      if (this.#isUnanswered) this.#note('unknown');
      this.#isUnanswered = true;
      throw error instanceof StoreUnavailableError ? error : new StoreUnavailableError({ cause: error });
    }
    this.#note(undefined);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  #note(reason: UnsafeSetting | 'unknown' | undefined): void {
    this.#isUnanswered = false;
    if (this.#isClosed || this.#reason === reason) return;
    this.#reason = reason;
    this.#options.onChange(reason === undefined ? { holds: true } : { holds: false, reason });
  }
}

async function assertDurable(redis: Redis | Cluster, safety: SafetyOptions): Promise<void> {
  const masters = mastersOf(redis);
  try {
    // Connects newly discovered nodes of a cluster.
    await Promise.all(masters.map(node => node.ping()));
    if (redis instanceof Cluster && !coversAllSlots(redis)) {
      redis.refreshSlotsCache();
      throw new RedisFault('refused', 'no_master');
    }
  } catch (error) {
    throw new StoreUnavailableError({ cause: faultOf(error) });
  }
  await Promise.all(masters.map(node => assertKeepsData(node, safety)));
}

/** Whether every slot has a connected master. After a fail-over, some slots have none until the slot map is refreshed. */
function coversAllSlots(cluster: Cluster): boolean {
  const connected = new Set(
    cluster
      .nodes('master')
      .flatMap(({ status, options: { host, port } }) => (status === 'ready' ? `${host}:${port}` : [])),
  );
  return cluster.slots.length === SLOTS && cluster.slots.every(([master = '']) => connected.has(master));
}
