import { SHARDS, type Stores, StoreUnavailableError, Waiters } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { assertKeepsData, assertSafeRedis, mastersOf, type SafetyOptions, warningsAbout } from './assert-safe-redis.ts';
import { CapacityWatch, type RedisCapacity } from './capacity-watch.ts';
import type { CommandObserver } from './commands.ts';
import { confirmationOf } from './confirmation.ts';
import { openRedis, tlsFaultOf, untilReady } from './connect-redis.ts';
import { type DurabilityChange, type DurabilityOptions, UnsafeRedisError, type UnsafeSetting } from './durability.ts';
import type { Keys } from './keys.ts';
import { LossWatch, type LossWatchOptions } from './loss-watch.ts';
import { addressesOf, type RedisAddress, type RedisTlsOptions } from './redis-address.ts';
import { RedisEpochs } from './redis-epochs.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { CommittedEvents, RedisLink, type StoreGuard } from './redis-link.ts';
import { WakeUpSubscription } from './wake-up-subscription.ts';

interface HealthOptions {
  /** Interval of the checks, in ms. Default 10 seconds. */
  readonly watchMs?: number;
  /** Called when durability is lost and when it is restored. */
  readonly onDurability?: (change: DurabilityChange) => void;
  /** Called every `watchMs` with whether Redis accepts writes, and its memory usage. Without it, no probe is written. */
  readonly onCapacity?: (capacity: RedisCapacity) => void;
  /** Watches for data loss, and refuses every command while data is lost. Default: no watch. */
  readonly lossWatch?: LossWatchOptions;
}

export type WatchedRedisOptions = RedisAddress &
  HealthOptions & {
    readonly tls?: RedisTlsOptions;
    /** The durability profile. Checked at the start and by a timer. */
    readonly durability?: DurabilityOptions;
    /** Called at the start for each setting that endangers data but does not prevent the start. */
    readonly onWarning?: (setting: UnsafeSetting) => void;
    /** First part of every key name; one Redis can serve several gateways. Default `postern`. */
    readonly prefix?: string;
    /** Default 2000. A request waits at most about three times that long. */
    readonly commandTimeoutMs?: number;
    /** How long the start waits for Redis. Default 10 seconds. */
    readonly startTimeoutMs?: number;
    /** Called once if Redis has not answered within `lateMs` (default 1500) of the start. */
    readonly onLate?: (late: { readonly addresses: readonly string[]; readonly code: string }) => void;
    readonly lateMs?: number;
    /** See assertSafeRedis. */
    readonly assumeDurable?: boolean;
    /** Shown by CLIENT LIST. Default `postern`. */
    readonly connectionName?: string;
    /** Called for lost connections and similar faults, with a code and never with arguments. */
    readonly onFault?: (fault: RedisFault) => void;
    readonly onCommand?: CommandObserver;
    /** Maximum number of commands without a reply. Further commands fail at once. Default 20,000. */
    readonly maxPendingCommands?: number;
    /** Replaces the clock of Redis; for tests. */
    readonly now?: () => number;
  };

/**
 * A Redis that met the profile at the start, and that `RedisHealth` keeps checking. `ping` throws UnsafeRedisError as well, and `refusals` are
 * those of the last check.
 */
export interface WatchedRedis extends Pick<Stores, 'ping' | 'refusals' | 'close'> {
  readonly redis: Redis | Cluster;
  readonly link: RedisLink;
  /** Woken by the commits of all processes. */
  readonly waiters: Waiters;
  readonly epochs: RedisEpochs;
  readonly committed: CommittedEvents;
}

const HEARTBEAT_MS = 10_000;
/** Below the two seconds within which an operator must hear of an unresponsive Redis. */
const LATE_MS = 1_500;

/**
 * Connects, checks that Redis meets the profile, and starts to watch it.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function openWatchedRedis(keys: Keys, options: WatchedRedisOptions): Promise<WatchedRedis> {
  const commandTimeoutMs = options.commandTimeoutMs ?? 2_000;
  const startTimeoutMs = options.startTimeoutMs ?? 10_000;
  const onFault = options.onFault ?? (() => {});
  const {
    redis,
    openSubscriber,
    close: disconnect,
  } = openRedis({
    address: options,
    tls: options.tls,
    connectionName: options.connectionName ?? 'postern',
    commandTimeoutMs,
    onFault,
    onSwitch() {
      confirmation?.leaveMasters();
      subscription.renew();
    },
  });
  const waiters = new Waiters();
  const { durability } = options;
  const confirmation = confirmationOf(redis, durability, { commandTimeoutMs, observe: options.onCommand });
  const subscription = new WakeUpSubscription({
    open: openSubscriber,
    isSound: isSoundFor(options),
    channel: keys.wake,
    waiters,
    onFault,
    heartbeatMs: HEARTBEAT_MS,
  });
  const safety = {
    assumeDurable: options.assumeDurable ?? false,
    durability,
    prefix: options.prefix,
  };
  const guard: StoreGuard = { held: undefined, isLost: false };
  const link = new RedisLink(redis, {
    now: options.now,
    patienceMs: commandTimeoutMs,
    observe: options.onCommand,
    maxPending: options.maxPendingCommands,
    confirmation,
    guard,
  });
  const epochs = new RedisEpochs(link, keys);
  const committed = new CommittedEvents();
  const health = new RedisHealth({ redis, keys, safety, epochs, committed, guard }, options);
  const close = async () => {
    health[Symbol.dispose]();
    await subscription.close();
    confirmation?.close();
    disconnect();
  };

  try {
    await untilReady(redis, {
      withinMs: startTimeoutMs,
      lateMs: options.lateMs ?? LATE_MS,
      onLate: ({ code }) => options.onLate?.({ addresses: addressesOf(options), code }),
    });
    await Promise.all([assertSafeRedis(redis, safety), subscription.start(startTimeoutMs)]);
    await confirmation?.probe(SHARDS.map(keys.cursor), startTimeoutMs);
    for (const setting of await warningsAbout(redis, safety)) options.onWarning?.(setting);
    await health.start();
  } catch (error) {
    await close();
    const cause =
      error instanceof StoreUnavailableError ? await tlsFaultOf(options, options.tls, commandTimeoutMs) : undefined;
    throw cause === undefined ? error : new StoreUnavailableError({ cause });
  }
  // The new request connection may lead to another master, which now publishes the wake-ups.
  redis.on('ready', () => subscription.renew());
  health.watch();
  return {
    redis,
    link,
    waiters,
    epochs,
    committed,
    ping: () => health.assertReady(),
    refusals: () => health.refusals,
    close,
  };
}

/**
 * Returns the check that a subscription receives wake-ups, which are published on the master of the shard. One subscription
 * receives all of them: a cluster forwards them to every node, and under Sentinel it listens at the master. (Sharded channels
 * would need a subscription per slot, because every process waits for users of all shards.) A subscription at an isolated node or
 * a former master receives none, without an error.
 */
function isSoundFor(address: RedisAddress): (redis: Redis) => Promise<boolean> {
  if ('nodes' in address) return async redis => String(await redis.cluster('INFO')).includes('cluster_state:ok');
  if ('sentinels' in address) return async redis => (await redis.info('replication')).includes('role:master');
  return async redis => (await redis.ping()) === 'PONG';
}

interface HealthParts {
  readonly redis: Redis | Cluster;
  readonly keys: Keys;
  readonly safety: SafetyOptions;
  readonly epochs: RedisEpochs;
  readonly committed: CommittedEvents;
  readonly guard: StoreGuard;
}

/** One check of a Redis in use. */
interface HealthCheck {
  /** What the timer repeats. It never rejects. */
  readonly of: { look(): Promise<void> } & Disposable;
  /** The first time, before the stores are used. @throws StoreUnavailableError */
  readonly start?: () => Promise<void>;
  /** Before a response about readiness, which fails with what it throws. @throws UnsafeRedisError, StoreUnavailableError */
  readonly assert?: () => Promise<void>;
  /** After a reconnect, because the new connection may lead to another process. */
  readonly suspect?: () => void;
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
class RedisHealth implements Disposable {
  readonly #redis: Redis | Cluster;
  readonly #checks: { readonly [Name in 'durability' | 'data' | 'writes']?: HealthCheck };
  readonly #intervalMs: number;
  readonly #writes: CapacityWatch | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    parts: HealthParts,
    { watchMs = WATCH_MS, onDurability = () => {}, onCapacity, lossWatch }: HealthOptions,
  ) {
    const { redis, safety } = parts;
    this.#redis = redis;
    this.#intervalMs = watchMs;
    const durability = new DurabilityCheck({ check: () => assertDurable(redis, safety), onChange: onDurability });
    const data = lossWatch && new LossWatch(parts, lossWatch);
    const writes = onCapacity && new CapacityWatch({ ...parts, onCapacity });
    this.#writes = writes;
    this.#checks = {
      durability: { of: durability, assert: () => durability.check() },
      data: data && {
        of: data,
        start: () => data.start(),
        assert: () => data.check(),
        // In a Cluster, commands to other nodes continue: holding them until the missing node answers would block them too.
        suspect: () => (redis instanceof Cluster ? void data.look() : data.suspect()),
      },
      writes: writes && { of: writes, start: () => writes.look() },
    };
  }

  /** Checks for the first time. @throws StoreUnavailableError */
  async start(): Promise<void> {
    for (const check of this.#all()) await check.start?.();
  }

  /** Repeats the checks from now on. */
  watch(): void {
    for (const event of this.#redis instanceof Cluster ? ['ready', '+node', '-node'] : ['ready'])
      this.#redis.on(event, () => {
        for (const check of this.#all()) check.suspect?.();
      });
    this.#timer = setInterval(() => {
      for (const check of this.#all()) void check.of.look();
    }, this.#intervalMs);
    this.#timer.unref();
  }

  /** @throws UnsafeRedisError, StoreUnavailableError */
  async assertReady(): Promise<void> {
    for (const check of this.#all()) await check.assert?.();
  }

  /** Error codes of masters that refused a write in the last check. */
  get refusals(): readonly string[] {
    return this.#writes?.refusals ?? [];
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const check of this.#all()) check.of[Symbol.dispose]();
  }

  #all(): readonly HealthCheck[] {
    const { durability, data, writes } = this.#checks;
    return [durability, data, writes].filter(check => check !== undefined);
  }
}

interface DurabilityCheckOptions {
  /** @throws UnsafeRedisError, StoreUnavailableError */
  readonly check: () => Promise<void>;
  /** Called once per change. Durability holds at the start. */
  readonly onChange: (change: DurabilityChange) => void;
}

/**
 * Repeats the start checks, because settings and replicas of Redis can change while it runs. A check
 * without a reply counts only from the second in a row: a process that is busy starting can miss the deadline of a command whose
 * reply has already arrived.
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
