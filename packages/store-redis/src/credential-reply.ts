import { type Credential, type CredentialId, credentialIdOf } from '@postern/elicitation';
import { decodeCredential } from './records/credential-record.ts';
import { unreadable } from './records/record-layout.ts';
import { isAbsent, numberOf, textOf } from './reply.ts';

/** As scripts answer with them too; a credential is laid out like a connection and is never `lost`. */
export const CREDENTIAL_FIELDS = ['generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse'] as const;

/** Reads generation, createdAt, updatedAt, record, lost, lastUse. @throws DomainError `unknown_record_layout` */
export function credentialOf(credentialId: CredentialId, found: readonly unknown[]): Credential {
  const [generation, createdAt, updatedAt, record, , lastUse] = found;
  const credential = decodeCredential(textOf(record), {
    credentialId,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
    ...(isAbsent(lastUse) ? {} : { lastUse: textOf(lastUse) }),
  });
  // Its place says whose it is. A record that says otherwise was put there by somebody else than us.
  if (credentialIdOf(credential) !== credentialId) throw unreadable();
  return credential;
}
