import {
  type Credential,
  type CredentialId,
  type CredentialStore,
  credentialIdOf,
  type NewCredential,
  oldestFirst,
  parseCredentialId,
  type Subject,
  shardIn,
  shardOf,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import { z } from 'zod';
import {
  credentialId,
  decodeLasting,
  elicitationId,
  encode,
  encodeUse,
  LASTING_FIELDS,
  lastUse,
  localText,
  subject,
  text,
  time,
  unreadable,
} from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf } from './script.ts';

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

/** The transition that completes an elicitation creates its credential, so this port has no verb for that. */
export class RedisCredentialStore extends RedisPort implements CredentialStore {
  async read(credentialId: CredentialId): Promise<Credential | undefined> {
    const key = this.keys.credential(credentialId);
    const found = listOf(await this.link.callFor('readCredential', 'hmget', key, ...LASTING_FIELDS));
    return isAbsent(found[0]) ? undefined : credentialOf(credentialId, found);
  }

  async list(subject: Subject): Promise<readonly Credential[]> {
    const index = this.keys.credentialsOf(shardOf(subject), subject);
    const credentials = await this.all(await this.link.call('smembers', index), parseCredentialId, id => this.read(id));
    return credentials.sort(oldestFirst(({ credentialId: id, createdAt: at }) => ({ id, at })));
  }

  async recordUse(p: Parameters<CredentialStore['recordUse']>[0]): Promise<void> {
    await this.repeatable(
      'recordUse',
      { used: this.keys.credential(p.credentialId) },
      { use: encodeUse(p.use), againAfterMs: USE_NOTED_AGAIN_MS },
    );
  }

  /**
   * Not repeated after a lost reply: the repeat could not tell whether the first call removed the credential, and the user may
   * have typed a new one meanwhile. The caller gets StoreUnavailableError.
   */
  async remove(credentialId: CredentialId): Promise<Credential | undefined> {
    const stored = await this.read(credentialId);
    if (stored === undefined) return undefined;
    const reply = await this.once(
      'removeCredential',
      {
        credential: this.keys.credential(credentialId),
        credentialsOf: this.keys.credentialsOf(shardIn(credentialId), stored.subject),
        saved: this.keys.saved(shardIn(credentialId)),
        ledger: this.keys.ledger(shardIn(credentialId), stored.owner),
      },
      { credentialId },
    );
    const found = listOf(reply);
    return found.length === 0 ? undefined : credentialOf(credentialId, found);
  }
}
