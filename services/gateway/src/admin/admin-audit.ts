import type { JobAbout, Stores } from '@postern/elicitation';
import { type AuditFields, auditRecordOf, type OperatorEventName } from '../platform/audit/audit-events.ts';
import type { Pseudonyms } from '../platform/audit/pseudonyms.ts';
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
export const actsPrinted =
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
