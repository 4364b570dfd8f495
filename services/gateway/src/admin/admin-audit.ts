import type { Stores } from '@postern/elicitation';
import { type AuditFields, auditRecordOf, type OperatorEventName } from '../platform/audit/audit-events.ts';
import type { Pseudonyms } from '../platform/audit/pseudonyms.ts';
import { requestFields } from '../platform/http/request-context.ts';
import { instance, type Logger } from '../platform/logger.ts';

/** Who acts as an operator, and through which door. */
export interface Actor {
  /** Name of the operator or of the credential, as that door identified it. */
  readonly who: string;
  readonly door: 'console' | 'admin_api' | 'command_line';
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

/**
 * Unlike the events of users, the acts of operators are in the audit trail in Redis whether `audit.stream` is on or off, and a verb waits
 * for them.
 * @param p.logger the log of the gateway; a command has none
 * @param p.print where a command writes the line as well, so that the log of the container or the shell has it
 */
export function createAdminAudit(p: {
  readonly audits: Pick<Stores['audits'], 'append'>;
  readonly pseudonym: Pseudonyms;
  readonly logger?: Logger;
  readonly print?: ((text: string) => void) | undefined;
  readonly now: () => number;
}): RecordAct {
  const log = p.logger?.child({ audit: true });
  return async ({ who, door, reason }, act) => {
    const record = {
      ...auditRecordOf(act.event, act, p.pseudonym),
      reason,
      by: 'operator',
      operator: who,
      door,
    };
    const message = 'operator act';
    const fields = { level: 'info', instance, time: new Date(p.now()).toISOString(), audit: true, ...requestFields() };
    const line = JSON.stringify({ ...fields, ...record, message });
    await p.audits.append('operators', line);
    log?.info(record, message);
    p.print?.(`${line}\n`);
  };
}
