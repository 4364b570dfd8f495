import { definedOnly, newOperationId, systemEntropy } from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text } from './records/record-layout.ts';
import type { RedisLink, Scalar } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, numberOf, textOf, unknownResult } from './reply.ts';

/** Who changed an API key, and why. */
interface ApiKeyChange {
  readonly by: string;
  readonly reason: string;
}

interface NewApiKey extends ApiKeyChange {
  /** Begins with `ak_`. */
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  /** Name for operators. */
  readonly name: string;
  readonly lastFour: string;
  /** SHA-256 of the key, sealed: who can only write to Redis must not be able to add a key. */
  readonly sealedDigest: string;
}

/** A key of the configuration that was revoked here. */
interface RevokedConfigKey {
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  /** SHA-256 of the key, in hex. */
  readonly digest: string;
}

export interface StoredApiKey {
  readonly apiKeyId: string;
  readonly mcpServerId: string;
  readonly createdAt: number;
  readonly added?: ApiKeyChange & { readonly name: string; readonly lastFour: string };
  /** Present while the key is valid. */
  readonly sealedDigest?: string;
  /** Only of a revoked key of the configuration. */
  readonly digest?: string;
  readonly revoked?: ApiKeyChange & { readonly at: number };
}

interface ApiKeyPage {
  readonly version: string;
  readonly apiKeys: readonly StoredApiKey[];
}

const changeSchema = z.object({ by: text, reason: text });
const aboutSchema = z.object({
  mcpServerId: text,
  digest: text.exactOptional(),
  added: changeSchema.extend({ name: text, lastFour: text }).exactOptional(),
});
const recordSchema = z.object({ mcpServerId: text, sealedDigest: text });

/** Valid keys: all replicas read the list as a whole. */
const MAX_API_KEYS = 10_000;
/** Revoked keys of the store that operators still see in the list, and for how long. The audit trail has them as well. */
const MAX_REVOKED = 1_000;
const REVOKED_MS = 90 * 24 * 3_600_000;
/** A long list must leave room for other commands on the connection. */
const READ_AT_ONCE = 500;

/** API keys of MCP servers that operators added, and those of the configuration that they revoked. All methods throw StoreUnavailableError. */
export class RedisApiKeyStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async add(p: NewApiKey): Promise<'added' | 'exists' | 'full'> {
    const { apiKeyId, mcpServerId, name, lastFour, by, reason, sealedDigest } = p;
    const about = encode({ mcpServerId, added: { name, lastFour, by, reason } });
    const texts = [about, encode({ mcpServerId, sealedDigest }), MAX_API_KEYS, MAX_REVOKED];
    const reply = await this.#change('addApiKey', apiKeyId, texts);
    if (reply !== 'added' && reply !== 'exists' && reply !== 'full') throw unknownResult();
    return reply;
  }

  /** Revokes a key of the store, or one of the configuration, which is given as a whole. */
  async revoke(key: string | RevokedConfigKey, change: ApiKeyChange): Promise<'revoked' | 'already' | 'unknown'> {
    const isStored = typeof key === 'string';
    const about = isStored ? '' : encode({ mcpServerId: key.mcpServerId, digest: key.digest });
    const texts = [about, encode(change), REVOKED_MS, MAX_REVOKED];
    const reply = await this.#change('revokeApiKey', isStored ? key : key.apiKeyId, texts);
    if (reply !== 'revoked' && reply !== 'already' && reply !== 'unknown') throw unknownResult();
    return reply;
  }

  /** Returns undefined if the list still has this version. @throws DomainError `unknown_record_layout` */
  async read(knownVersion = ''): Promise<ApiKeyPage | undefined> {
    const reply = await this.#link.run('readApiKeys', [this.#keys.apiKeys], [knownVersion], { repeatable: true });
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
    const found = new Map(fieldsOf(await this.#link.call('hgetall', this.#keys.apiKey(apiKeyId))));
    const about = found.get('about');
    if (isAbsent(about)) return undefined;
    const record = found.get('record');
    // A line separator in a reason must not hide that the key is revoked.
    const [, at, change] = /^(\d+) (.*)$/s.exec(textOf(found.get('revoked') ?? '')) ?? [];
    return {
      apiKeyId,
      createdAt: numberOf(found.get('createdAt')),
      ...decode(aboutSchema, textOf(about)),
      ...definedOnly({
        sealedDigest: isAbsent(record) ? undefined : decode(recordSchema, textOf(record)).sealedDigest,
        revoked: change === undefined ? undefined : { at: numberOf(at), ...decode(changeSchema, change) },
      }),
    };
  }

  async #change(command: 'addApiKey' | 'revokeApiKey', apiKeyId: string, values: readonly Scalar[]): Promise<unknown> {
    const reply = await this.#link.run(
      command,
      [this.#keys.apiKey(apiKeyId), this.#keys.apiKeys],
      [this.#link.clock(), apiKeyId, newOperationId(systemEntropy), ...values],
      { repeatable: true },
    );
    return listOf(reply)[0];
  }
}
