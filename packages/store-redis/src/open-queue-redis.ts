import { randomInt } from 'node:crypto';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { deliveryQueuePrefix } from './keys.ts';
import {
  credentialsOf,
  endpointsOf,
  type RedisAddress,
  type RedisTlsOptions,
  sentinelOptionsOf,
} from './redis-address.ts';
import { faultOf, type RedisFault } from './redis-fault.ts';

/** The connection that job queues work with, apart from that of requests. */
export interface QueueRedis {
  /** For BullMQ, which duplicates it where a command blocks. */
  readonly connection: Redis | Cluster;
  /** Prefix of the keys of one endpoint's queue. */
  prefixOf(endpoint: string): string;
  /** Ends it at once; whatever waits for an answer fails. */
  close(): void;
}

export interface QueueRedisOptions {
  readonly address: RedisAddress;
  readonly tls?: RedisTlsOptions | undefined;
  /** As of `createRedisStores`. Default `postern`. */
  readonly prefix?: string;
  /** Default `postern-queue`. */
  readonly connectionName?: string;
  readonly onFault?: (fault: RedisFault) => void;
}

/** Longer than BullMQ ever blocks (10 s), so that silence for so long means a peer that is gone. */
const SILENCE_MS = 15_000;

/**
 * Settings that BullMQ needs and that requests must not have: a command waits for the connection to come back, and is sent again
 * when its answer was lost. Its scripts bear that, and nobody waits for an answer here.
 */
export function openQueueRedis(options: QueueRedisOptions): QueueRedis {
  const { address, tls, prefix = 'postern', connectionName = 'postern-queue', onFault = () => {} } = options;
  const retry = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000) + randomInt(100);
  const common = {
    connectionName,
    lazyConnect: true,
    connectTimeout: 5_000,
    socketTimeout: SILENCE_MS,
    maxRetriesPerRequest: null,
    keepAlive: 10_000,
    retryStrategy: retry,
    // Sent again to the new master.
    reconnectOnError: error => (/^(READONLY|MASTERDOWN|UNBLOCKED)\b/.test(error.message) ? 2 : false),
    ...credentialsOf(address, tls),
  } satisfies RedisOptions;
  const connection = open();
  connection.on('error', (error: unknown) => onFault(faultOf(error)));
  function open(): Redis | Cluster {
    if ('url' in address) return new Redis(address.url, common);
    if ('sentinels' in address)
      return new Redis({ ...common, ...sentinelOptionsOf(address, tls), sentinelRetryStrategy: retry });
    return new Cluster([...endpointsOf(address)], {
      lazyConnect: true,
      clusterRetryStrategy: retry,
      slotsRefreshInterval: 5_000,
      redisOptions: common,
    });
  }
  return {
    connection,
    prefixOf: endpoint => deliveryQueuePrefix(prefix, endpoint),
    close: () => connection.disconnect(),
  };
}
