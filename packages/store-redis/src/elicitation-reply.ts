import { type Elicitation, type ElicitationId, parseElicitationId } from '@postern/elicitation';
import { decodeElicitation } from './records/elicitation-record.ts';
import { isAbsent, numberOf, textOf } from './reply.ts';

/** As scripts answer with them too. */
export const ELICITATION_FIELDS = [
  'status',
  'version',
  'createdAt',
  'expiresAt',
  'endedAt',
  'record',
  'redeemed',
] as const;

/** Reads the fields above. @throws DomainError `unknown_record_layout` */
export function elicitationOf(elicitationId: ElicitationId, found: readonly unknown[]): Elicitation {
  const [status, version, createdAt, expiresAt, endedAt, record, redeemed] = found;
  return decodeElicitation(textOf(record), {
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
