import type { CommandObserver, RedisStoresOptions } from '@postern/store-redis';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';

/** Says in the log and in the metrics when a master of Redis refuses writes, and when all take them again. */
export function capacityReports(
  logger: Pick<Logger, 'info' | 'error'>,
  metrics: Pick<Metrics, 'redisCapacity'> | undefined,
): Required<Pick<RedisStoresOptions, 'onCapacity'>> {
  let before = '';
  return {
    onCapacity(capacity) {
      metrics?.redisCapacity(capacity);
      const codes = capacity.refusals.join(' ');
      if (codes === before) return;
      before = codes;
      if (codes === '') logger.info({ event: 'redis.writes_regained' }, 'Redis takes writes again');
      else logger.error({ event: 'redis.writes_refused', codes: capacity.refusals }, 'Redis refuses writes');
    },
  };
}

/** Between two lines, in ms. */
const PAUSE_MS = 10_000;

/** Logs why Redis commands fail, by code, without a line for each of them. */
export function createRedisFaultLog(
  logger: Pick<Logger, 'warn'>,
  now: () => number = () => performance.now(),
): CommandObserver {
  const counts = new Map<string, number>();
  let nextAt = Number.NEGATIVE_INFINITY;
  const over: ReturnType<CommandObserver> = fault => {
    if (fault === undefined) return;
    counts.set(fault.code, (counts.get(fault.code) ?? 0) + 1);
    if (now() < nextAt) return;
    nextAt = now() + PAUSE_MS;
    logger.warn({ event: 'redis.commands_failed', failed: Object.fromEntries(counts) }, 'Redis commands failed');
    counts.clear();
  };
  return () => over;
}
