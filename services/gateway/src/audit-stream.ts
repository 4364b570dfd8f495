import type { RedisAuditLog } from '@postern/store-redis';
import type { AuditSink } from './events.ts';
import { instance } from './instance.ts';
import { type Logger, safeError } from './logger.ts';

/** Lines on their way to Redis at once; more than that are given up rather than kept in memory. */
const MAX_UNDER_WAY = 1_000;

export interface AuditStream extends AsyncDisposable {
  readonly sink: AuditSink;
}

/**
 * Writes the audit trail to Redis as well, as the same lines that the log gets. Nothing waits for it: where Redis is away, lines are
 * missing there, how many is logged, and the log has them all.
 */
export function createAuditStream(p: {
  readonly audits: Pick<RedisAuditLog, 'append'>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Called for each line that is missing in the stream. */
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
    p.logger.warn({ event: 'audit.lines_lost', lines: lost }, 'audit lines are missing in the stream');
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
        ...(error === undefined ? {} : { error: safeError(error) }),
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
