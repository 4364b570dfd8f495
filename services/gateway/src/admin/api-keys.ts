import { type ApiKeyView, createApiKeyAdmin, newApiKeyId } from '../mcp-servers/api-key-admin.ts';
import type { DryRun, ReasonedActor, RecordAct } from './admin-audit.ts';

/** Thrown when no more API keys are stored. */
export class TooManyApiKeysError extends Error {
  override name = 'TooManyApiKeysError';
}

const isoOf = (at: number): string => new Date(at).toISOString();

/** An API key as programs see it. */
export function apiKeyItem({ added, revoked, age, lastUsedAt, ...apiKey }: ApiKeyView) {
  return {
    ...apiKey,
    ...(age && { since: isoOf(age.since), ...(age.isOrEarlier ? { isOrEarlier: true } : {}) }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt: isoOf(lastUsedAt) }),
    ...(added && { added: { ...added, at: isoOf(added.at) } }),
    ...(revoked && { revoked: { ...revoked, at: isoOf(revoked.at) } }),
  };
}

/** What operators do with the API keys of MCP servers. A key that an operator adds is in force on all replicas within half a second. */
export function createApiKeys(p: Parameters<typeof createApiKeyAdmin>[0] & { readonly record: RecordAct }) {
  const keys = createApiKeyAdmin(p);
  const configured = new Set(p.config.mcpServers.map(({ id }) => id));

  return {
    apiKeys: () => keys.list(),
    /** Returns the id of a key that is given in plain text, for example a leaked one. */
    apiKeyIdOf: (key: string) => keys.idOf(key),

    /** Adds a key. The result is its only copy. Undefined for an MCP server that is not configured. @throws TooManyApiKeysError */
    async addApiKey(
      actor: ReasonedActor,
      { mcpServerId, name, dryRun }: DryRun & { readonly mcpServerId: string; readonly name: string },
    ): Promise<{ readonly apiKeyId?: string; readonly key?: string } | undefined> {
      if (!configured.has(mcpServerId)) return undefined;
      if (dryRun) return {};
      const apiKeyId = newApiKeyId();
      await p.record(actor, { event: 'api_key.added', apiKeyId, mcpServerId, name });
      const added = await keys.add({ by: actor.who, reason: actor.reason, apiKeyId, mcpServerId, name });
      if (added.result === 'full') throw new TooManyApiKeysError('There are 10,000 API keys. No key was added.');
      return { apiKeyId, key: added.key };
    },

    /** Revokes a key of the store or of the configuration. Undefined for an unknown id. */
    async revokeApiKey(
      actor: ReasonedActor,
      { apiKeyId, dryRun }: DryRun & { readonly apiKeyId: string },
    ): Promise<{ readonly result?: 'revoked' | 'already'; readonly apiKey: ApiKeyView } | undefined> {
      const apiKey = (await keys.list()).find(each => each.apiKeyId === apiKeyId);
      if (apiKey === undefined) return undefined;
      if (dryRun) return { apiKey };
      const { mcpServerId, source } = apiKey;
      await p.record(actor, { event: 'api_key.revoked', apiKeyId, mcpServerId, source });
      const revoked = await keys.revoke(apiKeyId, { by: actor.who, reason: actor.reason });
      return revoked.result === 'unknown' ? undefined : revoked;
    },
  };
}
