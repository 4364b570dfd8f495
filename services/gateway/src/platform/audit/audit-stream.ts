import type { RedisAuditLog } from '@postern/store-redis';
import { instance, type Logger, safeError } from '../logger.ts';
import type { AuditSink } from './audit-log.ts';

/** Maximum pending lines. Further lines are dropped rather than kept in memory. */
const MAX_UNDER_WAY = 1_000;

export interface AuditStream extends AsyncDisposable {
  readonly sink: AuditSink;
}

/**
 * Writes the audit events to Redis too, as the same lines as in the log. No request waits for it: while Redis is unavailable, lines are
 * missing in the stream, and the log says how many. The log itself is complete.
 */
export function createAuditStream(p: {
  readonly audits: Pick<RedisAuditLog, 'append'>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Called for each missing line. */
  readonly onLost?: () => void;
}): AuditStream {
  const underWay = new Set<Promise<void>>();
  let lost = 0;

  function lose(): void {
    lost += 1;
    p.onLost?.();
  }

  function done(): void {
    if (lost === 0) return;
    p.logger.warn({ event: 'audit.lines_lost', lines: lost }, 'audit lines missing in the stream');
    lost = 0;
  }

  return {
    sink(record, { level, text }) {
      if (underWay.size >= MAX_UNDER_WAY) {
        lose();
        return;
      }
      const { error, ...fields } = record;
      const line = JSON.stringify({
        ...{ level, instance, time: new Date(p.now()).toISOString(), audit: true, ...fields },
        error: error === undefined ? undefined : safeError(error),
        message: text,
      });
      const appending = p.audits
        .append(line)
        .then(done, lose)
        .finally(() => underWay.delete(appending));
      underWay.add(appending);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(underWay);
      done();
    },
  };
}
