import type { Keys } from './keys.ts';
import { decodeClientRegistration, encodeClientRegistration } from './records/client-registration-record.ts';
import type { RedisLink } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './reply.ts';

/**
 * Registrations that the gateway made for itself at authorization servers, sealed before they come here. Kept until they are
 * removed: tokens are issued to them.
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

  /** What is stored now: the value, or the one that came before it. @throws as `read` */
  async putIfAbsent(digest: string, sealedRegistration: string): Promise<string> {
    const record = encodeClientRegistration(sealedRegistration);
    const key = this.#keys.clientRegistration(digest);
    const [stored] = listOf(await this.#link.run('putRegistration', [key], [record], { repeatable: true }));
    return decodeClientRegistration(textOf(stored));
  }

  /** Only if it is this value. @throws as `read` */
  async remove(digest: string, sealedRegistration: string): Promise<void> {
    const record = encodeClientRegistration(sealedRegistration);
    await this.#link.run('removeRegistration', [this.#keys.clientRegistration(digest)], [record], { repeatable: true });
  }
}
