import {
  type ApiKeyChange,
  type ApiKeyStore,
  MAX_API_KEYS,
  MAX_REVOKED_API_KEYS,
  type NewApiKey,
  newOperationId,
  REVOKED_API_KEYS_MS,
  type RevokedConfigKey,
  type StoredApiKey,
  systemEntropy,
} from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, text } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, numberOf, textOf, unknownResult } from './script.ts';

const changeSchema = z.object({ by: text, reason: text });
const aboutSchema = z.object({
  mcpServerId: text,
  digest: text.optional(),
  added: changeSchema.extend({ name: text, lastFour: text }).optional(),
});
const recordSchema = z.object({ mcpServerId: text, sealedDigest: text });

/** A long list must leave room for other commands on the connection. */
const READ_AT_ONCE = 500;

/** A list of ids with a version, and a record per key. */
export class RedisApiKeyStore extends RedisPort implements ApiKeyStore {
  async add(p: NewApiKey) {
    const { apiKeyId, mcpServerId, name, lastFour, by, reason, sealedDigest } = p;
    const about = encode({ mcpServerId, added: { name, lastFour, by, reason } });
    const [reply] = listOf(
      await this.repeatable('addApiKey', this.#keysOf(apiKeyId), {
        apiKeyId,
        listVersion: newOperationId(systemEntropy),
        about,
        record: encode({ mcpServerId, sealedDigest }),
        validMax: MAX_API_KEYS,
        revokedMax: MAX_REVOKED_API_KEYS,
      }),
    );
    if (reply !== 'added' && reply !== 'exists' && reply !== 'full') throw unknownResult();
    return reply;
  }

  async revoke(key: string | RevokedConfigKey, change: ApiKeyChange) {
    const isStored = typeof key === 'string';
    const apiKeyId = isStored ? key : key.apiKeyId;
    const [reply] = listOf(
      await this.repeatable('revokeApiKey', this.#keysOf(apiKeyId), {
        apiKeyId,
        listVersion: newOperationId(systemEntropy),
        about: isStored ? undefined : encode({ mcpServerId: key.mcpServerId, digest: key.digest }),
        change: encode(change),
        listedMs: REVOKED_API_KEYS_MS,
        revokedMax: MAX_REVOKED_API_KEYS,
      }),
    );
    if (reply !== 'revoked' && reply !== 'already' && reply !== 'unknown') throw unknownResult();
    return reply;
  }

  async read(knownVersion?: string) {
    const reply = await this.repeatable('readApiKeys', { apiKeys: this.keys.apiKeys }, { knownVersion });
    const [result, version, ...ids] = listOf(reply).map(textOf);
    if (result === 'unchanged') return undefined;
    if (result !== 'list' || version === undefined) throw unknownResult();
    const apiKeys: StoredApiKey[] = [];
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const read = await Promise.all(ids.slice(at, at + READ_AT_ONCE).map(id => this.#read(id)));
      apiKeys.push(...read.filter(apiKey => apiKey !== undefined));
    }
    // The list was read first: a change in between gives it another version, and the next call returns the rest.
    return { version, apiKeys };
  }

  async #read(apiKeyId: string): Promise<StoredApiKey | undefined> {
    const found = new Map(fieldsOf(await this.link.call('hgetall', this.keys.apiKey(apiKeyId))));
    const about = found.get('about');
    if (isAbsent(about)) return undefined;
    const record = found.get('record');
    // A line separator in a reason must not hide that the key is revoked.
    const [, at, change] = /^(\d+) (.*)$/s.exec(textOf(found.get('revoked') ?? '')) ?? [];
    return {
      apiKeyId,
      createdAt: numberOf(found.get('createdAt')),
      ...decode(aboutSchema, textOf(about)),
      sealedDigest: isAbsent(record) ? undefined : decode(recordSchema, textOf(record)).sealedDigest,
      revoked: change === undefined ? undefined : { at: numberOf(at), ...decode(changeSchema, change) },
    };
  }

  #keysOf(apiKeyId: string) {
    return { apiKey: this.keys.apiKey(apiKeyId), apiKeys: this.keys.apiKeys };
  }
}
