import { QuotaExceededError, UnknownRecordLayoutError } from '@postern/elicitation';
import type { DataLoss, LossReports, RedisStoresOptions, UnsafeSetting } from '@postern/store-redis';
import type { AuditLog } from '../audit/audit-events.ts';
import type { CallSubscriber, StoreCall } from '../call-channels.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { redisChecks } from './redis-check-reports.ts';

/** Logs that a check begins to fail, or holds again. */
function logChange(
  logger: Pick<Logger, 'info' | 'error'>,
  check: 'durability' | 'data' | 'writes',
  p: { readonly holds: boolean; readonly fields?: Readonly<Record<string, unknown>> },
): void {
  const { event, text } = redisChecks[check][p.holds ? 'holds' : 'fails'];
  logger[p.holds ? 'info' : 'error']({ event, ...p.fields }, text);
}

/** Reports to log and metrics when a master of Redis starts to refuse writes, and when all accept writes again. */
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
      if (codes === '') logChange(logger, 'writes', { holds: true });
      else logChange(logger, 'writes', { holds: false, fields: { codes: capacity.refusals } });
    },
  };
}

/** Minimum time between two log lines about failed commands, in ms. */
const FAILURES_PAUSE_MS = 10_000;

/** Logs how many Redis commands failed, by error code, without a line for each of them. */
export function createRedisFaultLog(
  logger: Pick<Logger, 'warn'>,
  now: () => number = () => performance.now(),
): CallSubscriber<StoreCall> {
  const counts = new Map<string, number>();
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    fail({ fault }) {
      if (fault === undefined) return;
      counts.set(fault.code, (counts.get(fault.code) ?? 0) + 1);
      if (now() < nextAt) return;
      nextAt = now() + FAILURES_PAUSE_MS;
      logger.warn({ event: 'redis.commands_failed', failed: Object.fromEntries(counts) }, 'Redis commands failed');
      counts.clear();
    },
  };
}

/** Reports to log and metrics when Redis stops meeting its durability profile, and when it meets it again. */
export function durabilityReports(
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  metrics: Pick<Metrics, 'durable'> | undefined,
): Required<Pick<RedisStoresOptions, 'onDurability' | 'onWarning'>> {
  // The gateway does not start with a Redis that does not meet its profile.
  metrics?.durable(true);
  return {
    onDurability(change) {
      metrics?.durable(change.holds);
      if (change.holds) logChange(logger, 'durability', { holds: true });
      else logChange(logger, 'durability', { holds: false, fields: { reason: change.reason } });
    },
    onWarning: setting => logger.warn({ event: 'redis.unwise', setting }, ADVICE[setting] ?? 'unwise Redis setting'),
  };
}

const ADVICE: Partial<Record<UnsafeSetting, string>> = {
  maxmemory:
    'Redis may use all memory until the system kills it, and then loses writes that are not on disk: set maxmemory below the memory of its machine',
  'min-replicas-to-write':
    'a master without a connection to its replicas keeps accepting writes: set min-replicas-to-write',
  appendfsync:
    'a master that restarts before a fail-over can lose acknowledged writes, and its replicas follow it: set appendfsync always',
  'default-user':
    'cannot check that the Redis user "default" may replay the append-only file: allow "ACL DRYRUN" for the gateway, and set ' +
    '"user default off ~* &* +@all"; otherwise Redis drops acknowledged writes at a restart',
};

/** Maximum number of shards that a log line names. */
const NAMED = 8;

/** Reports data loss in Redis to log and metrics. Accepted and unrecoverable losses also go to the audit log. */
export function lossReports(p: {
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics, 'lostShards'> | undefined;
  /** Called only for a report, because the audit log is created after the stores. */
  readonly auditLog: () => AuditLog;
  readonly isPinned: boolean;
}): Required<LossReports> {
  const { logger, metrics } = p;
  metrics?.lostShards(0);
  return {
    onDeployment({ deployment, isNew }) {
      if (isNew)
        logger.warn(
          { event: 'redis.first_start', deployment },
          'created a new deployment in Redis. Set redis.deployment to its id, so that the gateway detects an emptied Redis',
        );
      else if (!p.isPinned)
        logger.info({ event: 'redis.not_pinned', deployment }, 'redis.deployment is not set; this is its id');
    },
    onLoss(loss) {
      metrics?.lostShards(loss === undefined ? 0 : countOf(loss));
      if (loss === undefined) return logChange(logger, 'data', { holds: true });
      const { deployment, missing, foreign, older, strangers } = loss;
      const fields = {
        deployment,
        missing: missing.length,
        foreign: foreign.length,
        older: older.length,
        shards: [...missing, ...foreign, ...older].slice(0, NAMED),
        strangers: strangers.slice(0, NAMED),
      };
      logChange(logger, 'data', { holds: false, fields });
    },
    onAccepted: accepted => p.auditLog().record('redis.loss_accepted', accepted),
    onRolledBack: ({ shards, backMs }) =>
      p.auditLog().record('redis.rolled_back', { shards: shards.length, backMs, first: shards.slice(0, NAMED) }),
  };
}

const countOf = ({ missing, foreign, older }: DataLoss) => missing.length + foreign.length + older.length;

/** Minimum time between two log lines about the same MCP server or layout, in ms. */
const QUIET_MS = 60_000;

/** Returns whether a line about `key` is due: at most one per minute. */
function createOncePerMinute<Key>(now: () => number): (key: Key) => boolean {
  const quietUntil = new Map<Key, number>();
  return key => {
    if ((quietUntil.get(key) ?? 0) > now()) return false;
    quietUntil.set(key, now() + QUIET_MS);
    return true;
  };
}

/**
 * Counts requests that exceed the storage quota of an MCP server, and logs each such MCP server once a minute.
 * @returns a function to call with any error
 */
export function createQuotaReports(p: {
  logger: Pick<Logger, 'warn'>;
  metrics: Pick<Metrics, 'quotaExceeded'> | undefined;
  now: () => number;
}): (error: unknown) => void {
  const isDue = createOncePerMinute<string>(p.now);
  return error => {
    if (!(error instanceof QuotaExceededError)) return;
    p.metrics?.quotaExceeded();
    const { mcpServerId } = error;
    if (isDue(mcpServerId))
      p.logger.warn({ event: 'quota.exceeded', mcpServerId }, 'storage quota of an MCP server exceeded');
  };
}

/**
 * Logs which layout of stored records this release cannot read: another release already writes a newer one, or was rolled back too
 * early. The record stays unchanged, and its request gets a retryable error.
 * @returns a function to call with any error; true for an error about a layout
 */
export function createUnknownLayoutLog(p: {
  logger: Pick<Logger, 'error'>;
  now: () => number;
}): (error: unknown) => boolean {
  const isDue = createOncePerMinute<number | undefined>(p.now);
  return error => {
    if (!(error instanceof UnknownRecordLayoutError)) return false;
    const { layout } = error;
    if (isDue(layout))
      p.logger.error(
        { event: 'store.unknown_layout', layout: layout ?? 'none' },
        'stored records have a layout that this release cannot read; they stay unchanged',
      );
    return true;
  };
}
