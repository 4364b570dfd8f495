import { randomInt } from 'node:crypto';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { confirmationOf } from './confirmation.ts';
import type { DurabilityOptions } from './durability.ts';
import { deliveryQueuePrefix } from './keys.ts';
import {
  credentialsOf,
  endpointsOf,
  type RedisAddress,
  type RedisTlsOptions,
  sentinelOptionsOf,
} from './redis-address.ts';
import { faultOf, RedisFault, storeErrorOf } from './redis-fault.ts';
import { leaveMaster, SentinelWatch } from './sentinel-watch.ts';

/** The connection that job queues work with, apart from that of requests. */
export interface QueueRedis {
  /** For BullMQ, which duplicates it where a command blocks. */
  readonly connection: Redis | Cluster;
  /** Prefix of the keys of one endpoint's queue. */
  prefixOf(endpoint: string): string;
  /**
   * To be called before something is queued for this endpoint, over a connection that is ready. What it returns resolves when the
   * replicas have that which the durability profile asks for; before, nothing else may rest on it.
   */
  guard(endpoint: string): () => Promise<void>;
  /** Ends it at once; whatever waits for an answer fails. */
  close(): void;
}

export interface QueueRedisOptions {
  readonly address: RedisAddress;
  readonly tls?: RedisTlsOptions | undefined;
  /** As of `createRedisStores`. */
  readonly durability?: DurabilityOptions | undefined;
  /** As of `createRedisStores`. Default `postern`. */
  readonly prefix?: string;
  /** Default `postern-queue`. */
  readonly connectionName?: string;
  readonly onFault?: (fault: RedisFault) => void;
}

/** Longer than BullMQ ever blocks (10 s), so that silence for so long means a peer that is gone. */
const SILENCE_MS = 15_000;
/** For what is asked beside the queues. */
const COMMAND_MS = 2_000;

/**
 * Settings that BullMQ needs and that requests must not have: a command waits for the connection to come back, and is sent again
 * when its answer was lost. Its scripts bear that, and nobody waits for an answer here.
 */
export function openQueueRedis(options: QueueRedisOptions): QueueRedis {
  const {
    address,
    tls,
    durability,
    prefix = 'postern',
    connectionName = 'postern-queue',
    onFault = () => {},
  } = options;
  const retry = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000) + randomInt(100);
  const common = {
    connectionName,
    connectTimeout: 5_000,
    socketTimeout: SILENCE_MS,
    maxRetriesPerRequest: null,
    keepAlive: 10_000,
    retryStrategy: retry,
    // Sent again to the new master.
    reconnectOnError: error => (/^(READONLY|MASTERDOWN|UNBLOCKED|NOREPLICAS)\b/.test(error.message) ? 2 : false),
    ...credentialsOf(address, tls),
  } satisfies RedisOptions;
  // Connects at once: BullMQ gives up for good on a connection whose first attempt, made by BullMQ itself, has failed.
  const connection = open();
  connection.on('error', (error: unknown) => onFault(faultOf(error)));
  function open(): Redis | Cluster {
    if ('url' in address) return new Redis(address.url, common);
    if ('sentinels' in address)
      return new Redis({
        ...common,
        ...sentinelOptionsOf(address, tls),
        sentinelRetryStrategy: retry,
      });
    return new Cluster([...endpointsOf(address)], {
      clusterRetryStrategy: retry,
      slotsRefreshInterval: 5_000,
      redisOptions: common,
    });
  }
  const confirmation = confirmationOf(connection, durability, { commandTimeoutMs: COMMAND_MS });
  // The copies that BullMQ makes of the connection leave an old master when that one is made a replica, or refuses writes
  // without its replicas.
  const watch =
    'sentinels' in address && connection instanceof Redis
      ? new SentinelWatch({
          address,
          tls,
          connectionName,
          timeoutMs: COMMAND_MS,
          onSwitch() {
            leaveMaster(connection);
            confirmation?.leaveMasters();
          },
          onFault,
        })
      : undefined;
  const guard = (key: string) => {
    if (confirmation === undefined) return () => Promise.resolve();
    const before = confirmation.prepare(key);
    return async () => {
      // Redirected on the way, it is another master that has it.
      if (confirmation.prepare(key).master !== before.master) throw new RedisFault('ambiguous', 'master_changed');
      await before.confirm();
    };
  };
  return {
    connection,
    guard: endpoint => {
      try {
        const confirm = guard(`${deliveryQueuePrefix(prefix, endpoint)}:`);
        return () => confirm().catch(asStoreError);
      } catch (error) {
        return () => asStoreError(error);
      }
    },
    prefixOf: endpoint => deliveryQueuePrefix(prefix, endpoint),
    close() {
      watch?.close();
      confirmation?.close();
      connection.disconnect();
    },
  };
}

async function asStoreError(error: unknown): Promise<never> {
  throw storeErrorOf(faultOf(error));
}
