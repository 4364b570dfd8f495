import type { Connection, JobAbout, Stores } from '@postern/elicitation';
import {
  type AuditFields,
  auditRecordOf,
  type OperatorEventName,
  type Pseudonyms,
} from '../platform/audit/audit-events.ts';
import { requestFields } from '../platform/http/request-context.ts';
import { instance, type Logger } from '../platform/logger.ts';

/** Who acts as an operator, and through which door. */
export interface Actor {
  /** Name of the operator or of the credential, as that door identified it. */
  readonly who: string;
  readonly door: JobAbout['door'];
  readonly reason?: string;
}

export type ReasonedActor = Actor & { readonly reason: string };

/** Returns what the verb would do, and changes nothing. */
export interface DryRun {
  readonly dryRun: boolean;
}

/** Something that an operator did or looked at. */
export type OperatorAct = {
  [Name in OperatorEventName]: { readonly event: Name } & AuditFields<Name>;
}[OperatorEventName];

/**
 * Records an act before it takes effect, and before any data is returned.
 * @throws StoreUnavailableError if the line was not stored; the act must not happen then
 */
export type RecordAct = (actor: Actor, act: OperatorAct) => Promise<void>;

/** Writes an act that is in the audit trail to a second place. @param line the act as the audit trail has it */
type WriteAct = (act: Readonly<Record<string, unknown>>, line: string) => void;

const MESSAGE = 'operator act';

/** Writes acts to the log of a gateway. */
export function actsToLog(logger: Logger): WriteAct {
  const log = logger.child({ audit: true });
  return act => log.info(act, MESSAGE);
}

/** Prints the acts of a command, so that the log of the container or the shell has them. */
const actsPrinted =
  (print: (text: string) => void): WriteAct =>
  (_act, line) =>
    print(`${line}\n`);

/**
 * Unlike the events of users, the acts of operators are in the audit trail in Redis whether `audit.stream` is on or off, and a verb waits
 * for them.
 */
export function createAdminAudit(p: {
  readonly audits: Pick<Stores['audits'], 'append'>;
  readonly pseudonym: Pseudonyms;
  readonly write: WriteAct;
  readonly now: () => number;
}): RecordAct {
  return async ({ who, door, reason }, act) => {
    const record = {
      ...auditRecordOf(act.event, act, p.pseudonym),
      reason,
      by: 'operator',
      operator: who,
      door,
    };
    const fields = { level: 'info', instance, time: new Date(p.now()).toISOString(), audit: true, ...requestFields() };
    const line = JSON.stringify({ ...fields, ...record, message: MESSAGE });
    await p.audits.append('operators', line);
    p.write(record, line);
  };
}

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
