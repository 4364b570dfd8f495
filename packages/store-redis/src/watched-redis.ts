import { SHARDS, type Stores, StoreUnavailableError, Waiters } from '@postern/elicitation';
import type { Cluster, Redis } from 'ioredis';
import { assertSafeRedis, warningsAbout } from './assert-safe-redis.ts';
import type { CommandObserver } from './commands.ts';
import { confirmationOf } from './confirmation.ts';
import { openRedis, tlsFaultOf, untilReady } from './connect-redis.ts';
import type { DurabilityOptions, UnsafeSetting } from './durability.ts';
import type { Keys } from './keys.ts';
import { addressesOf, type RedisAddress, type RedisTlsOptions } from './redis-address.ts';
import { RedisEpochs } from './redis-epochs.ts';
import type { RedisFault } from './redis-fault.ts';
import { type HealthOptions, RedisHealth } from './redis-health.ts';
import { CommittedEvents, RedisLink, type StoreGuard } from './redis-link.ts';
import { WakeUpSubscription } from './wake-up-subscription.ts';

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
 * A Redis that met the profile at the start, and that `RedisHealth` keeps checking. `ping` throws UnsafeRedisError as well, and `refusals`
 * are those of the last check.
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
