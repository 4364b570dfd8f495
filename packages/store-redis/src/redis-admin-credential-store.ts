import { adminScopes, type StoredAdminCredential } from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text, time } from './record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, textOf } from './script.ts';

const schema = z.object({
  name: text,
  scopes: z.array(z.enum(adminScopes)),
  mac: text,
  createdAt: time,
  by: text,
  reason: text,
});

/** Read at each request, so a revocation is in force on all replicas at once. All methods throw StoreUnavailableError. */
export class RedisAdminCredentialStore {
  readonly #link: RedisLink;
  readonly #key: string;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#key = keys.adminCredentials;
  }

  /** Returns false if the id is taken. */
  async add({ credentialId, ...credential }: StoredAdminCredential): Promise<boolean> {
    const values = [this.#key, credentialId, encode(credential)] as const;
    return Number(await this.#link.callFor('changeAdminCredential', 'hsetnx', ...values)) === 1;
  }

  /** Returns false if there was none. */
  async revoke(credentialId: string): Promise<boolean> {
    return Number(await this.#link.callFor('changeAdminCredential', 'hdel', this.#key, credentialId)) === 1;
  }

  async list(): Promise<readonly StoredAdminCredential[]> {
    return [...(await this.readAll()).values()].map(read => read());
  }

  /** All credentials by id, each decoded when it is needed: an unreadable one disturbs no other. */
  async readAll(): Promise<ReadonlyMap<string, () => StoredAdminCredential>> {
    const found = fieldsOf(await this.#link.call('hgetall', this.#key));
    return new Map(
      found.map(([credentialId, value]) => [credentialId, () => ({ credentialId, ...decode(schema, textOf(value)) })]),
    );
  }
}
