import { type Elicitation, type ElicitationId, parseElicitationId } from '@postern/elicitation';
import { decodeElicitation } from './records/elicitation-record.ts';
import { joinedRecord, RECORD_FIELDS } from './records/record-fields.ts';
import { unreadable } from './records/record-layout.ts';
import { isAbsent, numberOf, textOf } from './reply.ts';

const PLAIN_FIELDS = ['status', 'version', 'createdAt', 'expiresAt', 'endedAt', 'redeemed'] as const;

/** As scripts answer with them too, see `commands/elicitation-fields.lua`. */
export const ELICITATION_FIELDS = [...PLAIN_FIELDS, ...RECORD_FIELDS] as const;

/** Reads the fields above. @throws DomainError `unknown_record_layout` */
export function elicitationOf(elicitationId: ElicitationId, found: readonly unknown[]): Elicitation {
  const [status, version, createdAt, expiresAt, endedAt, redeemed, ...record] = found.slice(
    0,
    ELICITATION_FIELDS.length,
  );
  // Without what every layout so far has, it is of one that this release does not know.
  if ([status, version, createdAt, expiresAt].some(isAbsent)) throw unreadable();
  return decodeElicitation(joinedRecord(record), {
    elicitationId,
    status: textOf(status),
    version: numberOf(version),
    createdAt: numberOf(createdAt),
    expiresAt: numberOf(expiresAt),
    ...(isAbsent(endedAt) ? {} : { endedAt: numberOf(endedAt) }),
    // `<at> <call> <redemption>`; empty while nobody has redeemed it.
    ...(isAbsent(redeemed) || redeemed === '' ? {} : { redeemedAt: numberOf(textOf(redeemed).split(' ', 1)[0]) }),
  });
}

export function elicitationIdOf(value: unknown): ElicitationId {
  const id = parseElicitationId(textOf(value));
  if (id === undefined) throw new TypeError('Redis answered with something other than an elicitation id.');
  return id;
}
