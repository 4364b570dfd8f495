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

/** The connection of job queues, separate from the request connection. */
export interface QueueRedis {
  /** For BullMQ, which duplicates it for blocking commands. */
  readonly connection: Redis | Cluster;
  /** Prefix of the keys of one endpoint's queue. */
  prefixOf(endpoint: string): string;
  /**
   * Call this over a ready connection before queueing a job of this endpoint. The returned function resolves when the replicas
   * have what the durability profile requires. Do not rely on the job before.
   */
  guard(endpoint: string): () => Promise<void>;
  /** Closes the connections immediately; pending commands fail. */
  close(): void;
}

export interface QueueRedisOptions {
  readonly address: RedisAddress;
  readonly tls?: RedisTlsOptions | undefined;
  /** As in `createRedisStores`. */
  readonly durability?: DurabilityOptions | undefined;
  /** As in `createRedisStores`. Default `postern`. */
  readonly prefix?: string;
  /** Default `postern-queue`. */
  readonly connectionName?: string;
  readonly onFault?: (fault: RedisFault) => void;
}

/** Longer than the longest blocking command of BullMQ (10 s), so a longer silence means a dead peer. */
const SILENCE_MS = 15_000;
/** Timeout of commands outside the queues. */
const COMMAND_MS = 2_000;

/**
 * Opens Redis with the settings that BullMQ needs and requests must not have: a command waits for a reconnect and is resent after
 * a lost reply. BullMQ's scripts tolerate that, and no request waits for them.
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
    // ioredis resends the command to the new master.
    reconnectOnError: error => (/^(READONLY|MASTERDOWN|UNBLOCKED|NOREPLICAS)\b/.test(error.message) ? 2 : false),
    ...credentialsOf(address, tls),
  } satisfies RedisOptions;
  // Connects immediately: BullMQ gives up for good if its own first attempt fails.
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
  // BullMQ's duplicates leave an old master that became a replica or refuses writes without replicas.
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
      // The command was redirected to another master.
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
