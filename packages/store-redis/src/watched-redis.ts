import { SHARDS, type Stores, StoreUnavailableError, Waiters } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { assertKeepsData, assertSafeRedis, mastersOf, type SafetyOptions, warningsAbout } from './assert-safe-redis.ts';
import { CapacityWatch, type RedisCapacity } from './capacity-watch.ts';
import type { CommandObserver } from './commands.ts';
import { confirmationOf } from './confirmation.ts';
import { openRedis, tlsFaultOf, untilReady } from './connect-redis.ts';
import { type DurabilityChange, type DurabilityOptions, DurabilityWatch, type UnsafeSetting } from './durability.ts';
import type { Keys } from './keys.ts';
import { LossWatch, type LossWatchOptions } from './loss-watch.ts';
import { addressesOf, type RedisAddress, type RedisTlsOptions } from './redis-address.ts';
import { RedisEpochs } from './redis-epochs.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { CommittedEvents, RedisLink, type StoreGuard } from './redis-link.ts';
import { WakeUpSubscription } from './wake-up-subscription.ts';

export type WatchedRedisOptions = RedisAddress & {
  readonly tls?: RedisTlsOptions;
  /** The durability profile. Checked at the start and by a timer. */
  readonly durability?: DurabilityOptions;
  /** Interval of the checks that Redis still meets the profile, in ms. Default 10 seconds. */
  readonly watchMs?: number;
  /** Called when durability is lost and when it is restored. */
  readonly onDurability?: (change: DurabilityChange) => void;
  /** Called every `watchMs` with whether Redis accepts writes, and its memory usage. Without it, no probe is written. */
  readonly onCapacity?: (capacity: RedisCapacity) => void;
  /** Watches for data loss, and refuses every command while data is lost. Default: no watch. */
  readonly lossWatch?: LossWatchOptions;
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
 * A Redis that met the profile at the start, and that timers keep checking. `ping` throws UnsafeRedisError as well, and `refusals` are
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
const WATCH_MS = 10_000;
/** Below the two seconds within which an operator must hear of an unresponsive Redis. */
const LATE_MS = 1_500;
/** Number of slots of every Redis Cluster. */
const SLOTS = 16_384;

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
  const intervalMs = options.watchMs ?? WATCH_MS;
  const watch = new DurabilityWatch({
    check: () => check(redis, safety),
    intervalMs,
    onChange: options.onDurability ?? (() => {}),
  });
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
  const lossWatch = options.lossWatch && new LossWatch({ epochs, committed, guard, intervalMs }, options.lossWatch);
  const { onCapacity } = options;
  const capacityWatch = onCapacity && new CapacityWatch({ redis, keys, guard, intervalMs, onCapacity });
  const close = async () => {
    capacityWatch?.[Symbol.dispose]();
    watch[Symbol.dispose]();
    lossWatch?.[Symbol.dispose]();
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
    await lossWatch?.start();
    await capacityWatch?.start();
  } catch (error) {
    await close();
    const cause =
      error instanceof StoreUnavailableError ? await tlsFaultOf(options, options.tls, commandTimeoutMs) : undefined;
    throw cause === undefined ? error : new StoreUnavailableError({ cause });
  }
  // The new request connection may lead to another master, which now publishes the wake-ups.
  redis.on('ready', () => subscription.renew());
  if (lossWatch !== undefined) suspectAfterChanges(redis, lossWatch);
  watch.start();
  return {
    redis,
    link,
    waiters,
    epochs,
    committed,
    async ping() {
      await watch.check();
      await lossWatch?.check();
    },
    refusals: () => capacityWatch?.refusals ?? [],
    close,
  };
}

/**
 * Suspects data loss after reconnects, because a new connection may lead to another process. In a Cluster, commands to other
 * nodes continue meanwhile: holding them until the missing node answers would block them too.
 */
function suspectAfterChanges(redis: Redis | Cluster, lossWatch: LossWatch): void {
  if (!(redis instanceof Cluster)) redis.on('ready', () => lossWatch.suspect());
  else for (const event of ['ready', '+node', '-node']) redis.on(event, () => void lossWatch.look());
}

async function check(redis: Redis | Cluster, safety: SafetyOptions): Promise<void> {
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

/** Whether every slot has a connected master. After a fail-over, some slots have none until the slot map is refreshed. */
function coversAllSlots(cluster: Cluster): boolean {
  const connected = new Set(
    cluster
      .nodes('master')
      .flatMap(({ status, options: { host, port } }) => (status === 'ready' ? `${host}:${port}` : [])),
  );
  return cluster.slots.length === SLOTS && cluster.slots.every(([master = '']) => connected.has(master));
}
