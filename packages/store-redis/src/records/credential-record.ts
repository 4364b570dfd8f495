import { type Credential, type CredentialId, credentialIdOf, type NewCredential } from '@postern/elicitation';
import { z } from 'zod';
import { decodeLasting } from './lasting-record.ts';
import {
  credentialId,
  elicitationId,
  encode,
  lastUse,
  localText,
  subject,
  text,
  time,
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
  lastUse: lastUse.optional(),
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Credential>;

/** Encodes the members that no script reads as JSON. */
export function encodeCredential(of: NewCredential): string {
  const { owner, subject, name, title, fields, sealedValues, elicitationId } = of;
  return encode({ owner, subject, name, title, fields, sealedValues, elicitationId });
}

/** Reads `LASTING_FIELDS`. @throws DomainError `unknown_record_layout` */
export function credentialOf(credentialId: CredentialId, found: readonly unknown[]): Credential {
  const credential = decodeLasting(credentialSchema, { credentialId }, found);
  // The key is derived from the owner. No gateway writes a record with another owner.
  if (credentialIdOf(credential) !== credentialId) throw unreadable();
  return credential;
}
