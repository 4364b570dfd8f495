import rateLimit from '@fastify/rate-limit';
import { type OperationId, openApiDocument, operations } from '@postern/api';
import type { FastifyPluginAsync } from 'fastify';
import { connectionHandlers } from './authorization/connection-handlers.ts';
import type { GatewayDeps } from './deps.ts';
import { elicitationHandlers, waitingRead } from './elicitations/elicitation-handlers.ts';
import { credentialHandlers } from './entries/credential-handlers.ts';
import { eventHandlers } from './events/event-handlers.ts';
import { allowedToCaller } from './mcp-servers/allowed-to-caller.ts';
import type { ApiContext, ApiHandlers } from './mcp-servers/api-handlers.ts';
import { addCallerChecks, authenticatedCallerOf, callerOf, createCallerAuth } from './mcp-servers/caller-auth.ts';
import { callerHandlers } from './mcp-servers/caller-handlers.ts';
import { paymentHandlers } from './payments/payment-handlers.ts';
import { enterShare } from './platform/http/http-app.ts';
import { mountOperations, type OperationsApi } from './platform/http/mount-operations.ts';
import { limitDetail, ProblemError, problemFor, reportedProblem, sendProblem } from './platform/http/problems.ts';
import { addJsonParser, parse } from './platform/http/request-input.ts';

/** Paths of the contract as patterns, to distinguish 405 from 404. */
const patterns = Object.values(operations).map(({ path, method }) => ({
  methods: method === 'GET' ? [method, 'HEAD'] : [method],
  pattern: new RegExp(`^${path.replace(/\{[^{}]+\}/g, '[^/]+')}$`),
}));

const handlersOf = (deps: GatewayDeps): ApiHandlers<OperationId> => ({
  ...callerHandlers(deps),
  ...elicitationHandlers(deps),
  ...paymentHandlers(deps),
  ...eventHandlers(deps),
  ...connectionHandlers(deps),
  ...credentialHandlers(deps),
});

const operationsApi = ({ waitingRequests }: Pick<GatewayDeps, 'waitingRequests'>): OperationsApi<ApiContext> => ({
  // An id that cannot exist has the answer of an unknown one.
  parameters: request => request.params,
  parse,
  acceptsMissingBody: false,
  answersHead: true,
  contextOf: (request, reply) => ({
    caller: callerOf(request),
    request,
    reply,
    signal: () => waitingRequests.signalOf(reply, authenticatedCallerOf(request)),
  }),
  configs: { readElicitation: waitingRead },
});

/** The API for MCP servers: every request is authenticated, every request and response body is JSON. */
export const apiRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  // Bytes: connections whose callers do not read it share them.
  let document: Buffer | undefined;
  app.get('/openapi.json', (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(deps.config.publicUrl)));
    return reply.type('application/json').send(document);
  });

  await app.register(
    async api => {
      api.removeAllContentTypeParsers();
      addJsonParser(api);
      api.setErrorHandler((error, request, reply) => {
        const problem = reportedProblem(deps, request, error) ?? problemFor('internal_error');
        const detail = allowedToCaller(problem.code, () => callerOf(request));
        return sendProblem(request, reply, detail === undefined ? problem : { ...problem, detail });
      });
      api.addHook('onRequest', createCallerAuth(deps));
      addCallerChecks(api, deps);
      api.addHook('onRequest', (request, _reply, done) => {
        const caller = callerOf(request);
        deps.overload.turns.take(caller.mcpServerId, () => done(enterShare(request, caller, deps.overload)));
      });
      deps.telemetry?.traceRequests(api, {
        surface: 'api',
        attributesOf: request => ({ 'postern.mcp_server_id': callerOf(request).mcpServerId }),
      });
      await api.register(rateLimit, {
        // After authentication, because each MCP server has its own rate limit.
        hook: 'preHandler',
        timeWindow: 60_000,
        keyGenerator: request => callerOf(request).mcpServerId,
        max: request => callerOf(request).config.limits.requestsPerMinute,
        errorResponseBuilder: (_request, { ttl, max }) =>
          new ProblemError('rate_limited', {
            retryAfterMs: ttl,
            detail: limitDetail(`${max} requests a minute`, 'mcpServers[].limits.requestsPerMinute'),
          }),
      });
      mountOperations(api, operations, handlersOf(deps), operationsApi(deps));

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
