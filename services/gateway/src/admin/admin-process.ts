import type { Connection, Stores } from '@postern/elicitation';
import type { Pseudonyms } from '../platform/audit/pseudonyms.ts';
import { type Actor, actsPrinted, createAdminAudit, type RecordAct } from './admin-audit.ts';

/** A connection that a job has removed. */
type RemovedConnection = Pick<Connection, 'connectionId' | 'owner' | 'provider' | 'subject'> & {
  readonly jobId: string;
};

/** What the verbs and jobs of operators need of the process that they run in: a gateway, or a command. */
export interface AdminProcess {
  readonly record: RecordAct;
  /** Records whose connection a job has removed. @param actor who started the job */
  readonly connectionRemoved: (actor: Actor, removed: RemovedConnection) => Promise<void>;
  readonly jobFailed: (failure: { readonly jobId: string; readonly error: unknown }) => void;
  /** How long this process sends a provider no requests, in milliseconds. */
  readonly pausedMs: (provider: string) => number | undefined;
}

interface AuditTrail {
  readonly stores: { readonly audits: Pick<Stores['audits'], 'append'> };
  readonly pseudonym: Pseudonyms;
  readonly now: () => number;
}

/** Prints acts. A command has no log, and sends no provider any request. */
export function commandProcess(p: AuditTrail & { readonly print: (text: string) => void }): AdminProcess {
  const record = createAdminAudit({ ...p, audits: p.stores.audits, write: actsPrinted(p.print) });
  return {
    record,
    // Without a line in Redis, nothing would say whose connection the job removed.
    connectionRemoved: (actor, removed) => record(actor, { event: 'admin.connection_removed', ...removed }),
    // The record of the job has the code.
    jobFailed: () => {},
    pausedMs: () => undefined,
  };
}
