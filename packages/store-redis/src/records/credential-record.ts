import { type Credential, type CredentialId, credentialIdOf, type NewCredential } from '@postern/elicitation';
import { z } from 'zod';
import { isAbsent, numberOf, textOf } from '../reply.ts';
import {
  credentialId,
  decode,
  elicitationId,
  encode,
  lastUse,
  localText,
  recordIn,
  subject,
  text,
  time,
  timed,
  unreadable,
} from './record-layout.ts';

const credentialSchema = z.object({
  credentialId,
  generation: z.int(),
  owner: text,
  subject,
  name: text,
  title: localText,
  fields: z.array(text),
  sealedValues: text,
  elicitationId,
  lastUse: lastUse.exactOptional(),
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Credential>;

/** Encodes the members that no script reads as JSON. */
export function encodeCredential(of: NewCredential): string {
  const { owner, subject, name, title, fields, sealedValues, elicitationId } = of;
  return encode({ owner, subject, name, title, fields, sealedValues, elicitationId });
}

/** @throws DomainError `unknown_record_layout` */
function decodeCredential(
  json: string,
  fields: Pick<Credential, 'credentialId' | 'generation' | 'createdAt' | 'updatedAt'> & {
    /** `<at> <use>`, see `encodeUse`. */
    readonly lastUse?: string;
  },
): Credential {
  const { lastUse, ...plain } = fields;
  return decode(credentialSchema, json, record => ({
    ...record,
    ...plain,
    ...(lastUse === undefined ? {} : { lastUse: timed(lastUse, recordIn) }),
  }));
}

/** In the order in which scripts return them. A credential has the layout of a connection, and `lost` is always absent. */
export const CREDENTIAL_FIELDS = ['generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse'] as const;

/** Reads `CREDENTIAL_FIELDS`. @throws DomainError `unknown_record_layout` */
export function credentialOf(credentialId: CredentialId, found: readonly unknown[]): Credential {
  const [generation, createdAt, updatedAt, record, , lastUse] = found;
  const credential = decodeCredential(textOf(record), {
    credentialId,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
    ...(isAbsent(lastUse) ? {} : { lastUse: textOf(lastUse) }),
  });
  // The key is derived from the owner. No gateway writes a record with another owner.
  if (credentialIdOf(credential) !== credentialId) throw unreadable();
  return credential;
}
