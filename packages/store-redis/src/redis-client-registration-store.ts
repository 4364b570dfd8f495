import type { ClientRegistrationStore } from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, text } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './script.ts';

const clientRegistrationSchema = z.object({ sealedRegistration: text });

/** Equal registrations have equal texts. */
function encodeClientRegistration(sealedRegistration: string): string {
  return encode({ sealedRegistration });
}

/** @throws DomainError `unknown_record_layout` */
function decodeClientRegistration(json: string): string {
  return decode(clientRegistrationSchema, json).sealedRegistration;
}

/** One key per digest. */
export class RedisClientRegistrationStore extends RedisPort implements ClientRegistrationStore {
  async read(digest: string): Promise<string | undefined> {
    const record = await this.link.call('hget', this.keys.clientRegistration(digest), 'record');
    return isAbsent(record) ? undefined : decodeClientRegistration(textOf(record));
  }

  async putIfAbsent(digest: string, sealedRegistration: string): Promise<string> {
    const record = encodeClientRegistration(sealedRegistration);
    const key = this.keys.clientRegistration(digest);
    const [stored] = listOf(await this.repeatable('putRegistration', { clientRegistration: key }, { record }));
    return decodeClientRegistration(textOf(stored));
  }

  async remove(digest: string, sealedRegistration: string): Promise<void> {
    const record = encodeClientRegistration(sealedRegistration);
    const key = this.keys.clientRegistration(digest);
    await this.repeatable('removeRegistration', { clientRegistration: key }, { record });
  }
}
