import { randomBytes } from 'node:crypto';
import type { ApiKeyStore, KeyAge, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { McpServerConfig } from '../platform/config/mcp-server-config.ts';
import { apiKeyContext } from '../sealing/seal-contexts.ts';
import { apiKeyHash, digestIn, HASH_SHOWN, idOfFileKey, newApiKey } from './api-keys.ts';

/** An API key as operators see it: never the key, and no hash of a key of the store. */
export interface ApiKeyView {
  /** Begins with `ak_`. */
  readonly apiKeyId: string;
  readonly source: 'file' | 'store';
  readonly mcpServerId: string;
  /** False if the configuration has no such MCP server, so the key is refused. */
  readonly isConfigured: boolean;
  readonly name?: string;
  readonly lastFour?: string;
  /** Beginning of the hash, for keys of the file. */
  readonly hash?: string;
  readonly expires?: string;
  /** When the key was added; of a key of the file, when a gateway first had it. Absent before any gateway of this release had it. */
  readonly age?: KeyAge;
  /** The last use, to the hour. Absent before the first use that was noted. */
  readonly lastUsedAt?: number;
  readonly added?: { readonly at: number; readonly by: string; readonly reason: string };
  readonly revoked?: { readonly at: number; readonly by: string; readonly reason: string };
}

interface Change {
  readonly by: string;
  readonly reason: string;
}

type ApiKeyRevocation =
  | { readonly result: 'revoked' | 'already'; readonly apiKey: ApiKeyView }
  | { readonly result: 'unknown' };

const LAST_FOUR = 4;

export type ApiKeyStatus = 'valid' | 'revoked' | 'expired' | 'refused';

/** A revoked or expired key is refused, and so is a key of an MCP server that is not configured. */
export function statusOfApiKey(
  { revoked, expires, isConfigured }: Pick<ApiKeyView, 'expires' | 'isConfigured'> & { readonly revoked?: unknown },
  now: number,
): ApiKeyStatus {
  if (revoked !== undefined) return 'revoked';
  if (expires !== undefined && Date.parse(expires) <= now) return 'expired';
  return isConfigured ? 'valid' : 'refused';
}

export const newApiKeyId = () => `ak_${randomBytes(12).toString('base64url')}`;

/** What operators do with API keys. Sends nothing and logs nothing: callers write the audit event. */
export function createApiKeyAdmin(p: {
  readonly config: { readonly mcpServers: readonly McpServerConfig[] };
  readonly vault: Pick<Vault, 'seal' | 'open'>;
  readonly stores: {
    readonly apiKeys: Pick<Stores['apiKeys'], keyof ApiKeyStore>;
    readonly keyAges: Pick<Stores['keyAges'], 'read'>;
  };
}) {
  const { apiKeys, keyAges } = p.stores;
  const configured = p.config.mcpServers.flatMap(({ id: mcpServerId, apiKeys }) =>
    apiKeys.map(({ hash, expires }) => ({ mcpServerId, digest: digestIn(hash), expires })),
  );
  const mcpServerIds = new Set(p.config.mcpServers.map(({ id }) => id));

  /** All keys: those of the file first, then those of the store from old to new. */
  async function list(): Promise<readonly ApiKeyView[]> {
    const [page, { ages, uses }] = await Promise.all([apiKeys.read(), keyAges.read()]);
    const stored = page?.apiKeys ?? [];
    const lastUseOf = (apiKeyId: string) => ({ lastUsedAt: uses.get(apiKeyId) });
    const ofFile = configured.map(({ mcpServerId, digest, expires }): ApiKeyView => {
      const apiKeyId = idOfFileKey(digest);
      const revoked = stored.find(each => each.apiKeyId === apiKeyId)?.revoked;
      return {
        apiKeyId,
        source: 'file',
        mcpServerId,
        isConfigured: true,
        hash: `sha256:${digest.slice(0, HASH_SHOWN)}`,
        expires,
        revoked,
        age: ages.get(apiKeyId),
        ...lastUseOf(apiKeyId),
      };
    });
    const inFile = new Set(ofFile.map(({ apiKeyId }) => apiKeyId));
    const others = stored
      .filter(({ apiKeyId }) => !inFile.has(apiKeyId))
      .sort((a, b) => a.createdAt - b.createdAt || (a.apiKeyId < b.apiKeyId ? -1 : 1))
      .map(
        ({ apiKeyId, mcpServerId, createdAt, added, revoked, digest }): ApiKeyView => ({
          apiKeyId,
          source: digest === undefined ? 'store' : 'file',
          mcpServerId,
          isConfigured: mcpServerIds.has(mcpServerId),
          ...(added && { name: added.name, lastFour: added.lastFour }),
          ...(added && { added: { at: createdAt, by: added.by, reason: added.reason } }),
          ...(added && { age: { since: createdAt, isOrEarlier: false } }),
          ...lastUseOf(apiKeyId),
          ...(digest === undefined ? {} : { hash: `sha256:${digest.slice(0, HASH_SHOWN)}` }),
          ...(revoked === undefined ? {} : { revoked }),
        }),
      );
    return [...ofFile, ...others];
  }

  /** Returns the id of a key that is given in plain text, for example a leaked one. Opens the keys of the store. */
  async function idOf(key: string): Promise<string | undefined> {
    const digest = digestIn(apiKeyHash(key));
    if (configured.some(each => each.digest === digest)) return idOfFileKey(digest);
    for (const { apiKeyId, mcpServerId, sealedDigest } of (await apiKeys.read())?.apiKeys ?? []) {
      if (sealedDigest === undefined) continue;
      const opened = await p.vault.open(sealedDigest, apiKeyContext({ id: apiKeyId, mcpServerId }));
      if (opened === digest) return apiKeyId;
    }
    return undefined;
  }

  return {
    list,
    idOf,

    /** Adds a key under a new id. The result is the only copy of it. The MCP server is configured. */
    async add(
      of: Change & { readonly apiKeyId: string; readonly mcpServerId: string; readonly name: string },
    ): Promise<{ readonly result: 'added'; readonly key: string } | { readonly result: 'full' }> {
      if (!mcpServerIds.has(of.mcpServerId)) throw new TypeError('The MCP server is not configured.');
      const { apiKeyId } = of;
      const key = newApiKey();
      const context = apiKeyContext({ id: apiKeyId, mcpServerId: of.mcpServerId });
      const sealedDigest = await p.vault.seal(digestIn(apiKeyHash(key)), context);
      const result = await apiKeys.add({ ...of, lastFour: key.slice(-LAST_FOUR), sealedDigest });
      // Two random ids of 96 bits are never equal.
      if (result === 'exists') throw new TypeError('The id of the new key exists already.');
      return result === 'added' ? { result, key } : { result };
    },

    /** Revokes a key of the store, or one of the configuration until it is removed there. */
    async revoke(apiKeyId: string, change: Change): Promise<ApiKeyRevocation> {
      const ofFile = configured.find(({ digest }) => idOfFileKey(digest) === apiKeyId);
      const known = (await list()).find(each => each.apiKeyId === apiKeyId);
      if (known === undefined) return { result: 'unknown' };
      const { mcpServerId } = known;
      const key = ofFile === undefined ? apiKeyId : { apiKeyId, mcpServerId, digest: ofFile.digest };
      const result = await apiKeys.revoke(key, { by: change.by, reason: change.reason });
      const apiKey = (await list()).find(each => each.apiKeyId === apiKeyId) ?? known;
      return result === 'unknown' ? { result } : { result, apiKey };
    },
  };
}
