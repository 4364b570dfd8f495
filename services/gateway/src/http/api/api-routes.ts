import rateLimit from '@fastify/rate-limit';
import { openApiDocument, operations } from '@postern/api';
import type { FastifyPluginAsync } from 'fastify';
import type { GatewayDeps } from '../../deps.ts';
import { problemFor, sendProblem } from '../plugins/errors-plugin.ts';
import { takeShare } from '../plugins/overload-plugin.ts';
import { ProblemError } from '../problem-error.ts';
import { callerOf, createCallerAuth } from './caller-auth.ts';
import { connectionRoutes } from './connection-routes.ts';
import { credentialRoutes } from './credential-routes.ts';
import { elicitationRoutes } from './elicitation-routes.ts';
import { eventRoutes } from './event-routes.ts';
import { createJsonParser } from './json-body.ts';

/** Paths of the contract as patterns, to tell a wrong method from a wrong path. */
const patterns = Object.values(operations).map(({ path, method }) => ({
  methods: method === 'GET' ? [method, 'HEAD'] : [method],
  pattern: new RegExp(`^${path.replace(/\{[^{}]+\}/g, '[^/]+')}$`),
}));

/** What MCP servers call. Its own scope: JSON only, every request authenticated, every answer JSON. */
export const apiRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  const document = JSON.stringify(openApiDocument(deps.config.publicUrl));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(document));

  await app.register(
    async api => {
      api.removeAllContentTypeParsers();
      api.addContentTypeParser('application/json', { parseAs: 'string' }, createJsonParser(api));
      api.addHook('onRequest', createCallerAuth(deps));
      api.addHook('onRequest', (request, _reply, done) => done(takeShare(request, callerOf(request), deps.overload)));
      deps.telemetry?.traceRequests(api, {
        surface: 'api',
        attributesOf: request => ({ 'postern.mcp_server_id': callerOf(request).mcpServerId }),
      });
      await api.register(rateLimit, {
        // After authentication, so that one caller's flood is his own.
        hook: 'preHandler',
        timeWindow: 60_000,
        keyGenerator: request => callerOf(request).mcpServerId,
        max: request => callerOf(request).config.limits.requestsPerMinute,
        errorResponseBuilder: (_request, context) => new ProblemError('rate_limited', { retryAfterMs: context.ttl }),
      });
      await api.register(elicitationRoutes, { deps });
      await api.register(eventRoutes, { deps });
      await api.register(connectionRoutes, { deps });
      await api.register(credentialRoutes, { deps });

      api.setNotFoundHandler((request, reply) => {
        const path = request.url.split('?', 1)[0] ?? '';
        const allowed = patterns.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
        if (allowed.length === 0) return sendProblem(request, reply, problemFor('not_found'));
        return sendProblem(request, reply.header('allow', allowed.join(', ')), problemFor('method_not_allowed'));
      });
    },
    { prefix: '/v1' },
  );
};
