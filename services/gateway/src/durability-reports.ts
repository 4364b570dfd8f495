import type { RedisStoresOptions, UnsafeSetting } from '@postern/store-redis';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';

/** Says in the log and in the metrics when Redis stops doing what its durability profile promises, and when it does again. */
export function durabilityReports(
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  metrics: Pick<Metrics, 'durable'> | undefined,
): Required<Pick<RedisStoresOptions, 'onDurability' | 'onWarning'>> {
  // What does not hold keeps the gateway from starting.
  metrics?.durable(true);
  return {
    onDurability(change) {
      metrics?.durable(change.holds);
      if (change.holds) logger.info({ event: 'redis.durability_regained' }, 'Redis keeps again what was promised');
      else
        logger.error(
          { event: 'redis.durability_lost', reason: change.reason },
          'Redis does not keep what was promised, or cannot be asked: not ready',
        );
    },
    onWarning: setting => logger.warn({ event: 'redis.unwise', setting }, ADVICE[setting] ?? 'unwise Redis setting'),
  };
}

const ADVICE: Partial<Record<UnsafeSetting, string>> = {
  maxmemory:
    'Redis takes memory until the system ends it, and with it what was not on disk: set maxmemory below the memory of its machine',
  'min-replicas-to-write':
    'a master that is cut off from its replicas keeps accepting writes: set min-replicas-to-write',
  appendfsync:
    'a master that restarts before it is replaced can lack acknowledged writes, and its replicas follow it: set appendfsync always',
  'default-user':
    'cannot check that the Redis user "default" may replay the append-only file: allow "ACL DRYRUN" for the gateway, and set ' +
    '"user default off ~* &* +@all"; otherwise Redis drops acknowledged writes at a restart',
};
