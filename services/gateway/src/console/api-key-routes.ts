import type { Clock } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { RecordAct } from '../admin/admin-audit.ts';
import { type ApiKeyView, type createApiKeyAdmin, statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { type ActDeps, registerAct } from './acts.ts';
import { apiKeysPage, revokeApiKeyView } from './pages/api-key-pages.ts';

export interface ApiKeyRoutesDeps extends ActDeps {
  readonly apiKeys: ReturnType<typeof createApiKeyAdmin>;
  readonly record: RecordAct;
  readonly now: Clock;
}

/** API keys of MCP servers: their list, and the verb for a leaked one. */
export const apiKeyRoutes: FastifyPluginAsync<ApiKeyRoutesDeps> = async (app, { apiKeys, record, now, ...deps }) => {
  const isValid = (apiKey: ApiKeyView) => statusOfApiKey(apiKey, now()) === 'valid';

  app.get('/api-keys', { config: { consoleRole: 'viewer' } }, async (request, reply) =>
    reply.send(apiKeysPage(deps.pageFor(request), await apiKeys.list(), now())),
  );

  registerAct(app, deps, {
    path: '/api-keys/:apiKeyId/revoke',
    values: z.strictObject({ apiKeyId: z.string() }),
    async plan(_, { apiKeyId }) {
      const valid = (await apiKeys.list()).filter(isValid);
      const apiKey = valid.find(each => each.apiKeyId === apiKeyId);
      if (apiKey === undefined) return undefined;
      const ofServer = valid.filter(({ mcpServerId }) => mcpServerId === apiKey.mcpServerId);
      return revokeApiKeyView({ apiKey, others: ofServer.length - 1 });
    },
    async perform(actor, { apiKeyId }) {
      const apiKey = (await apiKeys.list()).find(each => each.apiKeyId === apiKeyId && isValid(each));
      if (apiKey === undefined) return undefined;
      const { mcpServerId, source } = apiKey;
      await record(actor, { event: 'api_key.revoked', apiKeyId, mcpServerId, source });
      // Another operator may have been faster, and both acts are recorded.
      await apiKeys.revoke(apiKeyId, { by: actor.who, reason: actor.reason });
      return '/api-keys';
    },
  });
};
