import { instance } from '../instance.ts';
import type { OpenStore } from './open-store.ts';

/** Writes an audit event of an operator's command to the audit trail, where `audit.stream` keeps one in Redis. */
export async function auditByOperator(
  store: OpenStore,
  record: { readonly event: string; readonly [field: string]: string | number },
  message: string,
): Promise<void> {
  if (!store.config.audit.stream) return;
  const line = {
    level: 'warn',
    instance,
    time: new Date().toISOString(),
    audit: true,
    ...record,
    by: 'operator',
    message,
  };
  await store.stores.audits.append(JSON.stringify(line));
}
