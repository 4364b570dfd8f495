import {
  type Credential,
  type CredentialId,
  type CredentialStore,
  oldestFirst,
  parseCredentialId,
  type Subject,
  shardIn,
  shardOf,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import { credentialOf, LASTING_FIELDS } from './records/lasting-records.ts';
import { encodeUse } from './records/record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf } from './values.ts';

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
