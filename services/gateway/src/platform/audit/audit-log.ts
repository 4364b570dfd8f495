import { type Audit, type AuditEvent, type Elicitation, isTerminal } from '@postern/elicitation';
import { requestContext, requestFields } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import {
  type AuditEventEntry,
  type AuditEventName,
  type AuditFields,
  type AuditRecord,
  auditEvents,
  auditRecordOf,
} from './audit-events.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/** Receives every audit event in addition to the log. Must neither throw nor block. */
export type AuditSink = (record: AuditRecord, as: { readonly level: string; readonly text: string }) => void;

/** Records audit events in the log and in every sink. */
export interface AuditLog {
  /** @param fields may have further members: only those of the table of events are in the line */
  record<Name extends AuditEventName>(event: Name, fields: AuditFields<Name>): void;
}

export function createAuditLog(
  logger: Logger,
  pseudonym: Pseudonyms,
  sinks: readonly AuditSink[] = [],
  now: () => number = Date.now,
): AuditLog {
  const log = logger.child({ audit: true });
  const taken = new Map<AuditEventName, { until: number; count: number }>();

  /** Whether one more event has a place in the audit trail of this minute. */
  function hasPlace(event: AuditEventName, max: number): boolean {
    const found = taken.get(event);
    const minute = found !== undefined && now() < found.until ? found : { until: now() + 60_000, count: 0 };
    taken.set(event, minute);
    minute.count += 1;
    return minute.count <= max;
  }

  return {
    record(event, fields) {
      const { level, text, perMinute }: AuditEventEntry = auditEvents[event];
      const line = auditRecordOf(event, fields, pseudonym);
      if (perMinute !== undefined && !hasPlace(event, perMinute)) return logger[level](line, text);
      log[level](line, text);
      for (const sink of sinks) sink({ ...requestFields(), ...line }, { level, text });
    },
  };
}

/** Records the events of the domain. */
export const elicitationAudit =
  ({ record }: AuditLog): Audit =>
  (event, of) =>
    record(`elicitation.${event.type}`, changeOf(event, of));

/** Who removed something, as it is recorded. */
export const removedBy = (by: RemovedBy) =>
  by === 'person' ? { by } : { by: 'mcp_server' as const, mcpServerId: by.mcpServerId };

export type RemovedBy = 'person' | { readonly mcpServerId: string };

const decisions: ReadonlySet<AuditEvent['type']> = new Set(['accepted', 'approved', 'declined', 'completed']);

/** The language in which the user decided. An approval names that of its page; any other decision has that of its request. */
function languageOf(event: AuditEvent): string | undefined {
  if (!decisions.has(event.type)) return undefined;
  return (event.type === 'approved' ? event.language : undefined) ?? requestContext()?.language;
}

const ends: ReadonlySet<AuditEvent['type']> = new Set([
  'approved',
  'completed',
  'failed',
  'declined',
  'cancelled',
  'expired',
]);

/** Returns what is recorded of an event of the domain: the final status and the delays only if it ended the elicitation. */
function changeOf(event: AuditEvent, of: Elicitation) {
  // Without a processor, the approval completes the elicitation.
  const end = ends.has(event.type) && isTerminal(of) ? of : undefined;
  return {
    elicitationId: event.elicitationId,
    mcpServerId: event.mcpServerId,
    subject: event.subject,
    kind: of.request.kind,
    ended: end?.status,
    afterMs: end && end.endedAt - end.createdAt,
    lateMs: event.type === 'expired' ? end && Math.max(0, end.endedAt - end.expiresAt) : undefined,
    failure: event.type === 'failed' ? event.failure : undefined,
    method: event.type === 'approved' ? event.method : undefined,
    language: languageOf(event),
    trouble: event.type === 'returned' ? event.retryReason : undefined,
    visitor: event.type === 'wrong_person' ? event.visitor : undefined,
  };
}
