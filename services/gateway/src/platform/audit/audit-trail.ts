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

export type AuditTrail = ReturnType<typeof auditTrail>;
