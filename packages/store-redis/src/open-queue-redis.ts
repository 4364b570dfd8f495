import { randomInt } from 'node:crypto';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from './connect-redis.ts';
import { deliveryQueuePrefix } from './keys.ts';
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
  const { address, prefix = 'postern', connectionName = 'postern-queue', onFault = () => {} } = options;
  const retry = (times: number) => Math.min(50 * 2 ** Math.min(times, 6), 2_000) + randomInt(100);
  const common = {
    connectionName,
    lazyConnect: true,
    connectTimeout: 5_000,
    socketTimeout: SILENCE_MS,
    maxRetriesPerRequest: null,
    keepAlive: 10_000,
    retryStrategy: retry,
  } satisfies RedisOptions;
  const connection =
    'url' in address
      ? new Redis(address.url, common)
      : new Cluster([...address.nodes], {
          lazyConnect: true,
          clusterRetryStrategy: retry,
          slotsRefreshInterval: 5_000,
          redisOptions: { ...common, ...credentialsOf(address.nodes) },
        });
  connection.on('error', (error: unknown) => onFault(faultOf(error)));
  return {
    connection,
    prefixOf: endpoint => deliveryQueuePrefix(prefix, endpoint),
    close: () => connection.disconnect(),
  };
}

/** Credentials and TLS of the first node apply to all. */
function credentialsOf([first = '']: readonly string[]): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  const { username, password, protocol } = new URL(first);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}
