import type { DataLoss, LossReports } from '@postern/store-redis';
import type { Events } from './events.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';

/** Shards that a log line names. */
const NAMED = 8;

/** Reports a Redis that has lost data: log, metrics and, for what an operator accepted or nobody can mend, the audit trail. */
export function lossReports(p: {
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics, 'lostShards'> | undefined;
  /** Not before the first report: the audit trail needs the store. */
  readonly events: () => Pick<Events, 'lossAccepted' | 'rolledBack'>;
  readonly isPinned: boolean;
}): Required<LossReports> {
  const { logger, metrics } = p;
  metrics?.lostShards(0);
  return {
    onDeployment({ deployment, isNew }) {
      if (isNew)
        logger.warn(
          { event: 'redis.first_start', deployment },
          'Redis knew no deployment: a new one begins. Set redis.deployment to its id, so that a lost Redis is never taken for a new one',
        );
      else if (!p.isPinned)
        logger.info({ event: 'redis.not_pinned', deployment }, 'redis.deployment is not set; this is its id');
    },
    onLoss(loss) {
      metrics?.lostShards(loss === undefined ? 0 : countOf(loss));
      if (loss === undefined) return logger.info({ event: 'redis.data_present' }, 'all shards have their data');
      const { deployment, missing, foreign, older, strangers } = loss;
      logger.error(
        {
          event: 'redis.data_lost',
          ...(deployment === undefined ? {} : { deployment }),
          missing: missing.length,
          foreign: foreign.length,
          older: older.length,
          shards: [...missing, ...foreign, ...older].slice(0, NAMED),
          strangers: strangers.slice(0, NAMED),
        },
        'Redis has lost data or is another Redis: not ready. Restore it, or see postern redis status and postern redis accept-loss',
      );
    },
    onAccepted: accepted => p.events().lossAccepted(accepted),
    onRolledBack: ({ shards, backMs }) =>
      p.events().rolledBack({ shards: shards.length, backMs, first: shards.slice(0, NAMED) }),
  };
}

const countOf = ({ missing, foreign, older }: DataLoss) => missing.length + foreign.length + older.length;
