import { readFileSync } from 'node:fs';
import type { QueueRedisOptions, RedisAddress, RedisStoresOptions, RedisTlsOptions } from '@postern/store-redis';
import { ConfigError } from '../config/config-error.ts';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { RedisConfig } from '../config/redis-config.ts';

export interface RedisTarget {
  /** For `createRedisStores`. */
  readonly stores: RedisStoresOptions;
  /** For `openQueueRedis`. */
  readonly queue: QueueRedisOptions;
}

/**
 * Returns the address, TLS and durability settings of the configured Redis, for the gateway and every command.
 * @throws ConfigError if a file of `redis.tls` cannot be read
 */
export function redisTarget(redis: RedisConfig): RedisTarget {
  const address = addressOf(redis);
  const tls = redis.tls === undefined ? undefined : tlsOf(redis.tls);
  return {
    queue: { address, tls, prefix: redis.prefix, durability: redis.durability },
    stores: {
      ...address,
      tls,
      prefix: redis.prefix,
      assumeDurable: redis.assumeDurable,
      durability: redis.durability,
    },
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Returns how long records stay in the store, for the gateway and every command. */
export function retentionOf({
  retention,
  audit,
  events,
  payment,
}: Pick<GatewayConfig, 'retention' | 'audit' | 'events' | 'payment'>) {
  const retentionMs = retention.endedHours * HOUR_MS;
  return {
    retentionMs,
    countRetentionMs: retention.countDays * DAY_MS,
    audit: {
      people: { lines: audit.retained, maxAgeMs: retention.auditDays * DAY_MS },
      operators: { maxAgeMs: retention.operatorAuditDays * DAY_MS },
    },
    // An elicitation whose payment has no record counts as one of which nothing was paid back.
    paymentRetentionMs: Math.max(payment.retentionDays * DAY_MS, retentionMs + DAY_MS),
    feed: { events: events.retained, maxAgeMs: events.retainedDays * DAY_MS },
  };
}

function addressOf({ url, cluster, sentinel }: RedisConfig): RedisAddress {
  if (cluster !== undefined) return { nodes: cluster };
  if (sentinel !== undefined) {
    const { nodes: sentinels, ...named } = sentinel;
    return { sentinels, ...named };
  }
  if (url === undefined) throw new TypeError('no Redis address');
  return { url };
}

function tlsOf({ caFile, certFile, keyFile, servername }: NonNullable<RedisConfig['tls']>): RedisTlsOptions {
  return {
    ca: textOf('caFile', caFile),
    cert: textOf('certFile', certFile),
    key: textOf('keyFile', keyFile),
    servername,
  };
}

function textOf(name: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new ConfigError([{ path: `redis.tls.${name}`, message: `${path} cannot be read` }]);
  }
}
