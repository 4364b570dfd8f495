import {
  type Credential,
  type CredentialId,
  type CredentialStore,
  parseCredentialId,
  type Subject,
  shardIn,
  shardOf,
  USE_NOTED_AGAIN_MS,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { CREDENTIAL_FIELDS, credentialOf } from './records/credential-record.ts';
import { encodeUse } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

/** The transition that completes an elicitation creates its credential, so this port has no verb for that. */
export class RedisCredentialStore implements CredentialStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async read(credentialId: CredentialId): Promise<Credential | undefined> {
    const key = this.#keys.credential(credentialId);
    const found = listOf(await this.#link.callFor('readCredential', 'hmget', key, ...CREDENTIAL_FIELDS));
    return isAbsent(found[0]) ? undefined : credentialOf(credentialId, found);
  }

  async list(subject: Subject): Promise<readonly Credential[]> {
    const index = this.#keys.credentialsOf(shardOf(subject), subject);
    const ids = listOf(await this.#link.call('smembers', index)).map(value => parseCredentialId(textOf(value)));
    const credentials = await Promise.all(ids.map(id => (id === undefined ? undefined : this.read(id))));
    return credentials
      .filter(credential => credential !== undefined)
      .sort((a, b) => a.createdAt - b.createdAt || (a.credentialId < b.credentialId ? -1 : 1));
  }

  async recordUse(p: {
    readonly credentialId: CredentialId;
    readonly use: { readonly mcpServerId: string; readonly tool?: string };
  }): Promise<void> {
    await this.#link.run(
      'recordUse',
      [this.#keys.credential(p.credentialId)],
      [this.#link.clock(), encodeUse(p.use), USE_NOTED_AGAIN_MS],
      { repeatable: true },
    );
  }

  /**
   * Not repeated after a lost reply: the repeat could not tell whether the first call removed the credential, and the user may
   * have typed a new one meanwhile. The caller gets StoreUnavailableError.
   */
  async remove(credentialId: CredentialId): Promise<Credential | undefined> {
    const stored = await this.read(credentialId);
    if (stored === undefined) return undefined;
    const reply = await this.#link.run(
      'removeCredential',
      [
        this.#keys.credential(credentialId),
        this.#keys.credentialsOf(shardIn(credentialId), stored.subject),
        this.#keys.saved(shardIn(credentialId)),
        this.#keys.ledger(shardIn(credentialId), stored.owner),
      ],
      [this.#link.clock(), credentialId],
    );
    const found = listOf(reply);
    return found.length === 0 ? undefined : credentialOf(credentialId, found);
  }
}
