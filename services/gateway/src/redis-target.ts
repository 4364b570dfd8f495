import { readFileSync } from 'node:fs';
import type { QueueRedisOptions, RedisAddress, RedisStoresOptions, RedisTlsOptions } from '@postern/store-redis';
import { ConfigError } from './config/config-error.ts';
import type { RedisConfig } from './config/redis-config.ts';
import { definedOnly } from './defined-only.ts';

export interface RedisTarget {
  /** For `createRedisStores`. */
  readonly stores: RedisStoresOptions;
  /** For `openQueueRedis`. */
  readonly queue: QueueRedisOptions;
}

/** Whether the configuration leads to a Redis, or leaves it to the gateway to have one of its own. */
export function hasOwnRedis({ url, cluster, sentinel }: RedisConfig): boolean {
  return url === undefined && cluster === undefined && sentinel === undefined;
}

/**
 * Where the store of this configuration is, how it is reached and what it promises: the same for the gateway and every command.
 * @param ownUrl address of the private Redis, where that is used
 * @throws ConfigError where a file of `redis.tls` cannot be read
 */
export function redisTarget(redis: RedisConfig, ownUrl?: string): RedisTarget {
  const address = addressOf(redis, ownUrl);
  const tls = redis.tls === undefined ? undefined : tlsOf(redis.tls);
  return {
    queue: { address, tls, prefix: redis.prefix, durability: redis.durability },
    stores: {
      ...address,
      ...(tls === undefined ? {} : { tls }),
      prefix: redis.prefix,
      assumeDurable: redis.assumeDurable,
      durability: redis.durability,
      recordLayout: redis.recordLayout,
    },
  };
}

function addressOf({ url, cluster, sentinel }: RedisConfig, ownUrl: string | undefined): RedisAddress {
  if (cluster !== undefined) return { nodes: cluster };
  if (sentinel !== undefined) {
    const { nodes: sentinels, ...named } = definedOnly(sentinel);
    return { sentinels, ...named };
  }
  const only = ownUrl ?? url;
  if (only === undefined) throw new TypeError('no Redis address: start the embedded one first');
  return { url: only };
}

function tlsOf({ caFile, certFile, keyFile, servername }: NonNullable<RedisConfig['tls']>): RedisTlsOptions {
  return definedOnly({
    ca: textOf('caFile', caFile),
    cert: textOf('certFile', certFile),
    key: textOf('keyFile', keyFile),
    servername,
  });
}

function textOf(name: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new ConfigError([{ path: `redis.tls.${name}`, message: `${path} cannot be read` }]);
  }
}
