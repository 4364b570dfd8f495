import { requestFields } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import type { AuditEventName } from './audit-events.ts';

/** An audit event as it is logged. */
export interface AuditRecord {
  readonly event: AuditEventName;
  readonly [field: string]: unknown;
}

/** Receives every audit event in addition to the log. Must neither throw nor block. */
export type AuditSink = (record: AuditRecord, as: { readonly level: string; readonly text: string }) => void;

/** Writes audit events to the log and to all sinks. */
export function auditTrail(logger: Logger, sinks: readonly AuditSink[]) {
  const log = logger.child({ audit: true });
  const write = (level: 'info' | 'warn' | 'error') => (record: AuditRecord, text: string) => {
    log[level](record, text);
    for (const sink of sinks) sink({ ...requestFields(), ...record }, { level, text });
  };
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

/** Error pages per minute of this process that are in the audit trail. */
const PAGES_PER_MINUTE = 30;

export interface FailedPage {
  readonly requestId: string;
  readonly route: string | undefined;
  readonly status: number;
}

/**
 * Records error pages, so that the number on them can be looked up. Anyone can cause them, so they must not fill the audit trail: beyond
 * a limit they are in the log only.
 */
export function createPageTrace(trail: AuditTrail, logger: Pick<Logger, 'warn'>, now: () => number = Date.now) {
  let [until, left] = [0, 0];
  return (page: FailedPage): void => {
    if (now() >= until) [until, left] = [now() + 60_000, PAGES_PER_MINUTE];
    const record = { event: 'page.failed', ...page } as const;
    left -= 1;
    if (left >= 0) trail.warn(record, 'error page');
    else logger.warn(record, 'error page');
  };
}

export type AuditTrail = ReturnType<typeof auditTrail>;
