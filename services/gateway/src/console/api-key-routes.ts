import { NotFoundError } from '@postern/elicitation';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RecordAct } from '../admin/admin-audit.ts';
import type { ApiKeyView, createApiKeyAdmin } from '../mcp-servers/api-key-admin.ts';
import { type ConsoleGuard, csrfField, reasonField } from './console-guard.ts';
import { apiKeysPage, revokeApiKeyPage } from './pages/api-key-pages.ts';
import type { SignedInPage } from './pages/layout.ts';

const revokeForm = z.strictObject({ csrf_token: csrfField, reason: reasonField });

export interface ApiKeyRoutesDeps {
  readonly apiKeys: ReturnType<typeof createApiKeyAdmin>;
  readonly record: RecordAct;
  readonly guard: ConsoleGuard;
  readonly pageFor: (request: FastifyRequest) => SignedInPage;
}

type ById = { Params: { apiKeyId: string } };

/** API keys of MCP servers: their list, and the verb for a leaked one. */
export const apiKeyRoutes: FastifyPluginAsync<ApiKeyRoutesDeps> = async (app, { apiKeys, record, guard, pageFor }) => {
  const operator = { config: { consoleRole: 'operator' as const } };

  /** @throws NotFoundError unless the key is valid */
  async function findValid(request: FastifyRequest<ById>) {
    const all = await apiKeys.list();
    const isValid = ({ revoked, isConfigured }: ApiKeyView) => revoked === undefined && isConfigured;
    const apiKey = all.find(each => each.apiKeyId === request.params.apiKeyId && isValid(each));
    if (apiKey === undefined) throw new NotFoundError('elicitation');
    const others = all.filter(each => each !== apiKey && each.mcpServerId === apiKey.mcpServerId && isValid(each));
    return { apiKey, others: others.length };
  }

  async function showRevoke(request: FastifyRequest<ById>, reply: FastifyReply): Promise<FastifyReply> {
    const found = await findValid(request);
    const path = `/api-keys/${found.apiKey.apiKeyId}/revoke`;
    const { isFresh } = guard.visitOf(request);
    return reply.send(revokeApiKeyPage(pageFor(request), { ...found, path, isFresh }));
  }

  app.get('/api-keys', { config: { consoleRole: 'viewer' } }, async (request, reply) =>
    reply.send(apiKeysPage(pageFor(request), await apiKeys.list())),
  );

  app.get<ById>('/api-keys/:apiKeyId/revoke', operator, showRevoke);

  app.post<ById>('/api-keys/:apiKeyId/revoke', operator, async (request, reply) => {
    const { reason } = await guard.readForm(request, revokeForm);
    const { actor, isFresh } = guard.visitOf(request);
    if (!isFresh) return showRevoke(request, reply.code(403));
    const { apiKey } = await findValid(request);
    const { apiKeyId, mcpServerId, source } = apiKey;
    await record({ ...actor, reason }, { event: 'admin.api_key_revoked', apiKeyId, mcpServerId, source });
    // Another operator may have been faster, and both acts are recorded.
    await apiKeys.revoke(apiKeyId, { by: actor.who, reason });
    return reply.redirect('/api-keys', 303);
  });
};
