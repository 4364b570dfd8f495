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
import { CREDENTIAL_FIELDS, credentialOf } from './credential-reply.ts';
import type { Keys } from './keys.ts';
import { encodeUse } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

/** Credentials are written by the move that completes their elicitation, so there is no verb for that here. */
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

  async noteUse(p: {
    readonly credentialId: CredentialId;
    readonly use: { readonly mcpServerId: string; readonly tool?: string };
  }): Promise<void> {
    await this.#link.run(
      'noteUse',
      [this.#keys.credential(p.credentialId)],
      [this.#link.clock(), encodeUse(p.use), USE_NOTED_AGAIN_MS],
      { repeatable: true },
    );
  }

  /**
   * Not repeated after a lost answer: the second would not know whether the first was its own, and what it removes might be
   * typed anew by then. The caller sees StoreUnavailableError.
   */
  async remove(credentialId: CredentialId): Promise<Credential | undefined> {
    const stored = await this.read(credentialId);
    if (stored === undefined) return undefined;
    const reply = await this.#link.run(
      'removeCredential',
      [this.#keys.credential(credentialId), this.#keys.credentialsOf(shardIn(credentialId), stored.subject)],
      [credentialId],
    );
    const found = listOf(reply);
    return found.length === 0 ? undefined : credentialOf(credentialId, found);
  }
}
