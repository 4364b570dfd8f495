import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text, time } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { fieldsOf, textOf } from './reply.ts';

/** What a credential of the admin API may do: look at lists, change something, look at one person, add and revoke API keys. */
export const adminScopes = ['read', 'act', 'people', 'keys'] as const;
export type AdminScope = (typeof adminScopes)[number];

/** A credential of the admin API. The token itself is not stored. */
export interface StoredAdminCredential {
  readonly credentialId: string;
  readonly name: string;
  readonly scopes: readonly AdminScope[];
  /** Keyed digest of the token, the id, the name and the scopes: who can only write to Redis must not be able to add or widen one. */
  readonly mac: string;
  readonly createdAt: number;
  readonly by: string;
  readonly reason: string;
}

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
