import { type CommandObserver, createRedisStores, openQueueRedis } from '@postern/store-redis';
import type { AuditLog } from '../audit/audit-events.ts';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { redisChecks } from './redis-check-reports.ts';
import { capacityReports, durabilityReports, lossReports } from './redis-reports.ts';
import { redisTarget, retentionOf } from './redis-target.ts';

export interface RedisOptions {
  /** Replaces the clocks of process and store, in tests. */
  readonly now?: () => number;
  /** Replaces the interval of the Redis checks, in milliseconds, in tests. */
  readonly redisWatchMs?: number;
  /** Replaces the timeout of a Redis command, in milliseconds, in tests. */
  readonly redisTimeoutMs?: number;
}

export interface RedisReports {
  readonly config: GatewayConfig;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly observe: { readonly onCommand: CommandObserver };
  /** Called only after the stores are open, because the audit trail needs them. */
  readonly auditLog: () => AuditLog;
}

/**
 * Connects the stores of the gateway and reports the state of Redis to log and metrics.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function openRedisStores(p: RedisReports, options: RedisOptions) {
  const { config, logger, metrics } = p;
  const { deployment } = config.redis;
  const { fails: unreachable } = redisChecks.connection;
  const target = redisTarget(config.redis);
  const stores = await createRedisStores({
    ...target.stores,
    ...retentionOf(config),
    now: options.now,
    commandTimeoutMs: options.redisTimeoutMs,
    watchMs: options.redisWatchMs,
    onCommand: p.observe.onCommand,
    maxPendingCommands: config.overload.redisCommands,
    ...durabilityReports(logger, metrics),
    ...capacityReports(logger, metrics),
    onLate: late => logger.warn({ event: unreachable.event, ...late }, unreachable.text),
    lossWatch: {
      deployment,
      ...lossReports({ logger, metrics, auditLog: p.auditLog, isPinned: deployment !== undefined }),
    },
  });
  return { stores, network: { ...stores, openQueueRedis: () => openQueueRedis(target.queue) } };
}
