import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

const clientRegistrationSchema = z.object({ sealedRegistration: text });

/** Equal registrations have equal texts. */
function encodeClientRegistration(sealedRegistration: string): string {
  return encode({ sealedRegistration });
}

/** @throws DomainError `unknown_record_layout` */
function decodeClientRegistration(json: string): string {
  return decode(clientRegistrationSchema, json).sealedRegistration;
}

/**
 * Client registrations of the gateway at authorization servers, sealed before they reach this store. They are kept until they are
 * removed, because providers issue tokens to them.
 */
export class RedisClientRegistrationStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** @throws StoreUnavailableError, DomainError `unknown_record_layout` */
  async read(digest: string): Promise<string | undefined> {
    const record = await this.#link.call('hget', this.#keys.clientRegistration(digest), 'record');
    return isAbsent(record) ? undefined : decodeClientRegistration(textOf(record));
  }

  /** Returns the stored value: this one, or an earlier one. @throws as `read` */
  async putIfAbsent(digest: string, sealedRegistration: string): Promise<string> {
    const record = encodeClientRegistration(sealedRegistration);
    const key = this.#keys.clientRegistration(digest);
    const [stored] = listOf(await this.#link.run('putRegistration', [key], [record], { repeatable: true }));
    return decodeClientRegistration(textOf(stored));
  }

  /** Removes the registration only if it has this value. @throws as `read` */
  async remove(digest: string, sealedRegistration: string): Promise<void> {
    const record = encodeClientRegistration(sealedRegistration);
    await this.#link.run('removeRegistration', [this.#keys.clientRegistration(digest)], [record], { repeatable: true });
  }
}
