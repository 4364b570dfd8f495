import { type AuditEventEntry, auditEvents } from '../audit/audit-events.ts';
import type { AuditSink } from '../audit/audit-log.ts';
import type { Instruments } from './instruments.ts';

/** Counts audit events. Everything that has an audit event is counted only here. */
export function createAuditMetrics(to: Instruments): AuditSink {
  const labels = { own: createBoundedLabel(160), foreign: createBoundedLabel(24) };
  return line => {
    const { count }: AuditEventEntry = auditEvents[line.event];
    count?.(to, line, labels);
  };
}

const OTHER = 'other';

/**
 * Turns a value into a label value. Codes come from closed sets, but nothing enforces that, and a label with unbounded values costs
 * unbounded memory here and in Prometheus, and could leak personal data. Values that are not short codes, and new values beyond
 * `max`, become `other`. Undefined becomes `none`.
 * @internal
 */
export function createBoundedLabel(max: number): (value: unknown) => string {
  const known = new Set<string>();
  return value => {
    if (value === undefined) return 'none';
    if (typeof value !== 'string' || !/^[a-z][a-z0-9_]{0,39}$/.test(value)) return OTHER;
    if (known.has(value)) return value;
    if (known.size >= max) return OTHER;
    known.add(value);
    return value;
  };
}
