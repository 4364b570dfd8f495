import {
  type BrowserSessionStore,
  type ConnectionStore,
  type CredentialStore,
  type ElicitationStore,
  type EventFeed,
  type EventOutbox,
  type IdempotencyStore,
  type Notifier,
  type OneTimeStore,
  type PasskeyStore,
  type PaymentStore,
  RECORD_LAYOUT,
  type RecordLayout,
  type RevocationStore,
  SHARDS,
  StoreUnavailableError,
} from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import {
  assertKeepsData,
  assertSafeRedis,
  mastersOf,
  type SafetyOptions,
  type UnsafeSetting,
  warningsAbout,
} from './assert-safe-redis.ts';
import { CapacityWatch, type RedisCapacity } from './capacity-watch.ts';
import { CommitSignals } from './commit-signals.ts';
import { CommittedEvents } from './committed-events.ts';
import { confirmationOf } from './confirmation.ts';
import { openRedis, untilReady } from './connect-redis.ts';
import type { DurabilityOptions } from './durability.ts';
import { type DurabilityChange, DurabilityWatch } from './durability-watch.ts';
import { createKeys } from './keys.ts';
import { LeaseStore } from './lease-store.ts';
import { LossWatch, type LossWatchOptions } from './loss-watch.ts';
import { addressesOf, type RedisAddress, type RedisTlsOptions } from './redis-address.ts';
import { RedisAuditLog } from './redis-audit-log.ts';
import { RedisBrowserSessionStore } from './redis-browser-session-store.ts';
import { RedisClientRegistrationStore } from './redis-client-registration-store.ts';
import { RedisConnectionStore } from './redis-connection-store.ts';
import { RedisCredentialStore } from './redis-credential-store.ts';
import { RedisElicitationStore } from './redis-elicitation-store.ts';
import { RedisEpochs } from './redis-epochs.ts';
import { RedisEventFeed } from './redis-event-feed.ts';
import { RedisEventLog } from './redis-event-log.ts';
import { type FeedRetention, RedisEventOutbox } from './redis-event-outbox.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { RedisIdempotencyStore } from './redis-idempotency-store.ts';
import { type CommandObserver, RedisLink } from './redis-link.ts';
import { RedisOneTimeStore } from './redis-one-time-store.ts';
import { RedisPasskeyStore } from './redis-passkey-store.ts';
import { RedisPaymentStore } from './redis-payment-store.ts';
import { RedisRevocationStore } from './redis-revocation-store.ts';
import { RedisWebhookEndpointStore } from './redis-webhook-endpoint-store.ts';
import { SealedRecords } from './sealed-records.ts';
import type { StoreGuard } from './store-guard.ts';
import { tlsFaultOf } from './tls-fault.ts';
import { Waiters } from './waiters.ts';
import { WakeUpSubscription } from './wake-up-subscription.ts';

export type RedisStoresOptions = RedisAddress & {
  readonly tls?: RedisTlsOptions;
  /** What an acknowledgement means. Checked at the start, and watched from then on. */
  readonly durability?: DurabilityOptions;
  /** How often it is asked whether Redis still does as the profile promises, in ms. Default 10 seconds. */
  readonly watchMs?: number;
  /** Told when it no longer does, and when it does again. */
  readonly onDurability?: (change: DurabilityChange) => void;
  /** Told every `watchMs` whether Redis takes writes, and how full it is. Without it, no probe is written. */
  readonly onCapacity?: (capacity: RedisCapacity) => void;
  /** Watches for loss of data, and refuses every command while some is lost. Default: neither. */
  readonly lossWatch?: LossWatchOptions;
  /** Called at the start for each setting that endangers data and does not keep the gateway from starting. */
  readonly onWarning?: (setting: UnsafeSetting) => void;
  /** First part of every key name; one Redis can serve several gateways. Default `postern`. */
  readonly prefix?: string;
  /** How long ended elicitations stay readable and their results redeemable, in ms. Default 24 hours. */
  readonly retentionMs?: number;
  /** How long payments are remembered, in ms. Default 400 days. */
  readonly paymentRetentionMs?: number;
  /** Events kept per shard, about. Default 4096. */
  readonly eventsPerShard?: number;
  /** Layout in which elicitations are written, see KEYSPACE.md. Default 1, which the release before reads too. */
  readonly recordLayout?: RecordLayout;
  /** What is kept of the feed of each MCP server. Default about 10,000 events, and 7 days. */
  readonly feed?: Partial<FeedRetention>;
  /** Default 2000. A request waits at most about three times as long. */
  readonly commandTimeoutMs?: number;
  /** How long the start waits for Redis. Default 10 seconds. */
  readonly startTimeoutMs?: number;
  /** Called once while the start waits for a Redis that has not answered for `lateMs` (default 1500). */
  readonly onLate?: (late: { readonly addresses: readonly string[]; readonly code: string }) => void;
  readonly lateMs?: number;
  /** See assertSafeRedis. */
  readonly assumeDurable?: boolean;
  /** Shown by CLIENT LIST. Default `postern`. */
  readonly connectionName?: string;
  /** Told about lost connections and the like, with a code and without arguments. */
  readonly onFault?: (fault: RedisFault) => void;
  readonly onCommand?: CommandObserver;
  /** Commands that Redis may owe this process an answer. What comes on top fails at once. Default 20,000. */
  readonly maxPendingCommands?: number;
  /** Lines of the audit trail that are kept, about. Default 100,000. */
  readonly auditRetained?: number;
  /** Replaces the clock of Redis; for tests. */
  readonly now?: () => number;
};

export interface RedisStores extends AsyncDisposable {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly credentials: CredentialStore;
  readonly passkeys: PasskeyStore;
  readonly payments: PaymentStore;
  readonly revocations: RevocationStore;
  readonly oneTime: OneTimeStore;
  readonly browserSessions: BrowserSessionStore;
  readonly idempotency: IdempotencyStore;
  readonly clientRegistrations: RedisClientRegistrationStore;
  readonly notifier: Notifier;
  readonly events: RedisEventLog;
  readonly audits: RedisAuditLog;
  readonly feeds: EventFeed;
  /** What the relay carries into the feeds. */
  readonly outbox: EventOutbox;
  readonly sealedRecords: SealedRecords;
  readonly leases: LeaseStore;
  readonly webhookEndpoints: RedisWebhookEndpointStore;
  readonly epochs: RedisEpochs;
  /** Whether Redis answers, keeps its data and has lost none. @throws StoreUnavailableError, UnsafeRedisError */
  ping(): Promise<void>;
  /** Codes of the faults with which a master refuses writes, as last seen; empty where all take them. */
  refusals(): readonly string[];
  close(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
const HEARTBEAT_MS = 10_000;
const WATCH_MS = 10_000;
/** Below the two seconds within which an operator is to hear of a Redis that does not answer. */
const LATE_MS = 1_500;
/** Of every Redis Cluster. */
const SLOTS = 16_384;

/**
 * Connects, checks that Redis is fit, and returns the ports over it.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function createRedisStores(options: RedisStoresOptions): Promise<RedisStores> {
  const keys = createKeys(options.prefix ?? 'postern');
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
  const commits = new CommitSignals();
  const { durability } = options;
  const confirmation = confirmationOf(redis, durability, { commandTimeoutMs, observe: options.onCommand });
  const subscription = new WakeUpSubscription({
    open: openSubscriber,
    isSound: isSoundFor(options),
    channel: keys.wake,
    onMessage: message => {
      waiters.wake(message);
      commits.note(message);
    },
    onListening: () => {
      waiters.wakeAll();
      commits.missed();
    },
    onFault,
    heartbeatMs: HEARTBEAT_MS,
  });
  const safety = {
    assumeDurable: options.assumeDurable ?? false,
    ...(durability === undefined ? {} : { durability }),
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
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
    repeatWithinMs: commandTimeoutMs,
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
    await confirmation?.probe(SHARDS.map(keys.cursor));
    for (const setting of await warningsAbout(redis, safety)) options.onWarning?.(setting);
    await lossWatch?.start();
    await capacityWatch?.start();
  } catch (error) {
    await close();
    const cause =
      error instanceof StoreUnavailableError ? await tlsFaultOf(options, options.tls, commandTimeoutMs) : undefined;
    throw cause === undefined ? error : new StoreUnavailableError({ cause });
  }
  // Another connection of requests may lead to another master: what wakes comes from there.
  redis.on('ready', () => subscription.renew());
  if (lossWatch !== undefined) suspectAfterChanges(redis, lossWatch);
  watch.start();

  const paymentRetentionMs = options.paymentRetentionMs ?? 400 * DAY_MS;
  const retention = { events: 10_000, maxAgeMs: 7 * DAY_MS, ...options.feed };
  return {
    elicitations: new RedisElicitationStore(link, keys, {
      retentionMs: options.retentionMs ?? DAY_MS,
      paymentRetentionMs,
      eventsPerShard: options.eventsPerShard ?? 4_096,
      recordLayout: options.recordLayout ?? RECORD_LAYOUT,
      committed,
    }),
    connections: new RedisConnectionStore(link, keys),
    credentials: new RedisCredentialStore(link, keys),
    passkeys: new RedisPasskeyStore(link, keys),
    payments: new RedisPaymentStore(link, keys, paymentRetentionMs),
    revocations: new RedisRevocationStore(link, keys),
    oneTime: new RedisOneTimeStore(link, keys),
    browserSessions: new RedisBrowserSessionStore(link, keys),
    idempotency: new RedisIdempotencyStore(link, keys),
    clientRegistrations: new RedisClientRegistrationStore(link, keys),
    notifier: waiters,
    events: new RedisEventLog(link, keys),
    audits: new RedisAuditLog(link, keys, options.auditRetained ?? 100_000),
    feeds: new RedisEventFeed(link, keys, { waiters, maxAgeMs: retention.maxAgeMs }),
    outbox: new RedisEventOutbox(link, keys, { commits, retention }),
    sealedRecords: new SealedRecords(redis, link, keys),
    leases: new LeaseStore(link, keys),
    webhookEndpoints: new RedisWebhookEndpointStore(link, keys),
    epochs,
    async ping() {
      await watch.check();
      await lossWatch?.check();
    },
    refusals: () => capacityWatch?.refusals ?? [],
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * A connection that was made anew may lead to another process. In a Cluster the commands to all other nodes go on meanwhile:
 * waiting for a node that is away would stop them too.
 */
function suspectAfterChanges(redis: Redis | Cluster, lossWatch: LossWatch): void {
  if (!(redis instanceof Cluster)) redis.on('ready', () => lossWatch.suspect());
  else for (const event of ['ready', '+node', '-node']) redis.on(event, () => void lossWatch.look());
}

async function check(redis: Redis | Cluster, safety: SafetyOptions): Promise<void> {
  const masters = mastersOf(redis);
  try {
    // Connects a node of a cluster that was just found.
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
 * Wake-ups are published on the master of the shard. A single subscription hears all of them: a cluster passes them on to every
 * node (sharded channels would need one per slot, and every process waits for people of all shards), and under Sentinel it
 * listens at the master. What makes it deaf without a sign is a node that is cut off from the others, or a master that no longer is one.
 */
function isSoundFor(address: RedisAddress): (redis: Redis) => Promise<boolean> {
  if ('nodes' in address) return async redis => String(await redis.cluster('INFO')).includes('cluster_state:ok');
  if ('sentinels' in address) return async redis => (await redis.info('replication')).includes('role:master');
  return async redis => (await redis.ping()) === 'PONG';
}

/** Whether every slot has a master that is connected. After a fail-over some have none until the slot map is looked at anew. */
function coversAllSlots(cluster: Cluster): boolean {
  const connected = new Set(
    cluster
      .nodes('master')
      .flatMap(({ status, options: { host, port } }) => (status === 'ready' ? `${host}:${port}` : [])),
  );
  return cluster.slots.length === SLOTS && cluster.slots.every(([master = '']) => connected.has(master));
}
