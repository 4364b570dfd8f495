import type { RedisAuditLog } from '@postern/store-redis';
import { instance, type Logger, safeError } from '../logger.ts';
import type { AuditEventName } from './audit-events.ts';
import type { AuditSink } from './audit-trail.ts';

/** Maximum pending lines. Further lines are dropped rather than kept in memory. */
const MAX_UNDER_WAY = 1_000;

/** Events that requests without a credential, a browser session or a valid signature cause, as often as somebody sends them. */
const causedByStrangers: ReadonlySet<AuditEventName> = new Set([
  'browser.logout_refused',
  'browser.sign_in_failed',
  'callback.refused',
  'caller.refused',
  'console.logout_refused',
  'console.sign_in_failed',
  'payment.webhook_refused',
]);
/** How many of these lines the stream of one process takes at once, and how long it takes for each further one. */
const STRANGERS_AT_ONCE = 100;
const STRANGERS_EVERY_MS = 36_000;

export interface AuditStream extends AsyncDisposable {
  readonly sink: AuditSink;
}

/**
 * Writes the audit events to Redis too, as the same lines as in the log. No request waits for it: while Redis is unavailable, lines are
 * missing in the stream, and the log says how many. The log itself is complete.
 *
 * Redis keeps a limited number of lines. So that strangers cannot push out what users and operators did, the stream takes few of their
 * lines (S124). The next one that it takes says how many it left out.
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
  let leftOut = 0;
  let places = STRANGERS_AT_ONCE;
  let countedAt = p.now();

  /** Returns false if the line of a stranger has no place. */
  function hasPlace(): boolean {
    const passed = Math.max(0, p.now() - countedAt);
    countedAt = p.now();
    places = Math.min(STRANGERS_AT_ONCE, places + passed / STRANGERS_EVERY_MS);
    if (places < 1) return false;
    places -= 1;
    return true;
  }

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
      const isOfStranger = causedByStrangers.has(record.event);
      if (isOfStranger && !hasPlace()) {
        leftOut += 1;
        return;
      }
      if (underWay.size >= MAX_UNDER_WAY) {
        lose();
        return;
      }
      const { error, ...fields } = record;
      const line = JSON.stringify({
        ...{ level, instance, time: new Date(p.now()).toISOString(), audit: true, ...fields },
        error: error === undefined ? undefined : safeError(error),
        message: text,
        ...(isOfStranger && leftOut > 0 ? { leftOut } : {}),
      });
      if (isOfStranger) leftOut = 0;
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
