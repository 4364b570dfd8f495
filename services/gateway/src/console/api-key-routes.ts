import type { Clock } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import type { AdminService } from '../admin/admin-service.ts';
import { type ApiKeyView, statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { type ActDeps, registerAct } from './acts.ts';
import { apiKeysPage, revokeApiKeyView } from './pages/api-key-pages.ts';

export interface ApiKeyRoutesDeps extends ActDeps {
  readonly admin: Pick<AdminService, 'apiKeys' | 'revokeApiKey'>;
  readonly now: Clock;
}

/** API keys of MCP servers: their list, and the verb for a leaked one. */
export const apiKeyRoutes: FastifyPluginAsync<ApiKeyRoutesDeps> = async (app, { admin, now, ...deps }) => {
  const isValid = (apiKey: ApiKeyView) => statusOfApiKey(apiKey, now()) === 'valid';

  app.get('/api-keys', { config: { consoleRole: 'viewer' } }, async (request, reply) =>
    reply.send(apiKeysPage(deps.pageFor(request), await admin.apiKeys(), now())),
  );

  registerAct(app, deps, {
    path: '/api-keys/:apiKeyId/revoke',
    values: z.strictObject({ apiKeyId: z.string() }),
    async plan(_, { apiKeyId }) {
      const valid = (await admin.apiKeys()).filter(isValid);
      const apiKey = valid.find(each => each.apiKeyId === apiKeyId);
      if (apiKey === undefined) return undefined;
      const ofServer = valid.filter(({ mcpServerId }) => mcpServerId === apiKey.mcpServerId);
      return revokeApiKeyView({ apiKey, others: ofServer.length - 1 });
    },
    async perform(actor, { apiKeyId }) {
      const isKnown = (await admin.apiKeys()).some(each => each.apiKeyId === apiKeyId && isValid(each));
      if (!isKnown) return undefined;
      // Another operator may have been faster, and both acts are recorded.
      await admin.revokeApiKey(actor, { apiKeyId, dryRun: false });
      return '/api-keys';
    },
  });
};
