import type { AuditStreamName, AuditTrailStore } from '@postern/elicitation';
import { instance, type Logger, safeError } from '../logger.ts';
import { auditEvents } from './audit-events.ts';
import type { AuditSink } from './audit-log.ts';

/** Maximum pending lines of each stream. Further lines are dropped rather than kept in memory. */
const MAX_UNDER_WAY = 1_000;

/** How many lines of strangers the stream of one process takes at once, and how long it takes for each further one. */
const STRANGERS_AT_ONCE = 100;
const STRANGERS_EVERY_MS = 36_000;

export interface AuditStream extends AsyncDisposable {
  readonly sink: AuditSink;
}

/**
 * Writes the audit events to Redis too, as the same lines as in the log. No request waits for it: while Redis is unavailable, lines are
 * missing in the stream, and the log says how many. The log itself is complete.
 *
 * Redis keeps a limited number of lines. The table of audit events says which of them only operators can cause: these have a stream and
 * places of their own, so that users and MCP servers push none of them out (S205). So that strangers cannot push out what users did, the
 * stream takes few of their lines (S124). The next one that it takes says how many it left out.
 */
export function createAuditStream(p: {
  readonly audits: Pick<AuditTrailStore, 'append'>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Whether users' lines are kept too (`audit.stream`). What operators did always is. */
  readonly keepsPeople: boolean;
  /** Called for each missing line. */
  readonly onLost?: () => void;
}): AuditStream {
  const underWay = { people: new Set<Promise<void>>(), operators: new Set<Promise<void>>() };
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
      const { trail } = auditEvents[record.event];
      const stream: AuditStreamName = trail === 'operators' ? trail : 'people';
      if (stream === 'people' && !p.keepsPeople) return;
      const isOfStranger = trail === 'strangers';
      if (isOfStranger && !hasPlace()) {
        leftOut += 1;
        return;
      }
      if (underWay[stream].size >= MAX_UNDER_WAY) {
        lose();
        return;
      }
      const { error, ...fields } = record;
      const line = JSON.stringify({
        level,
        instance,
        time: new Date(p.now()).toISOString(),
        audit: true,
        ...fields,
        error: error === undefined ? undefined : safeError(error),
        message: text,
        ...(isOfStranger && leftOut > 0 ? { leftOut } : {}),
      });
      if (isOfStranger) leftOut = 0;
      const appending = p.audits
        .append(stream, line)
        .then(done, lose)
        .finally(() => underWay[stream].delete(appending));
      underWay[stream].add(appending);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...underWay.people, ...underWay.operators]);
      done();
    },
  };
}
