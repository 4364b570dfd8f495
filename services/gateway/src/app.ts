import Fastify, { type FastifyInstance } from 'fastify';
import type { GatewayDeps } from './deps.ts';
import { apiRoutes } from './http/api/api-routes.ts';
import { createClientErrorHandler } from './http/client-error.ts';
import { clientRoutes } from './http/client-routes.ts';
import { pageRoutes } from './http/pages/page-routes.ts';
import { errorsPlugin, problemFor, sendProblem } from './http/plugins/errors-plugin.ts';
import { gracefulClosePlugin } from './http/plugins/graceful-close-plugin.ts';
import { handlerTimeoutPlugin } from './http/plugins/handler-timeout-plugin.ts';
import { healthPlugin } from './http/plugins/health-plugin.ts';
import { metricsPlugin } from './http/plugins/metrics-plugin.ts';
import { overloadPlugin } from './http/plugins/overload-plugin.ts';
import { requestContextPlugin } from './http/plugins/request-context-plugin.ts';
import { requestIdOf } from './http/plugins/request-id.ts';
import { requestLogPlugin } from './http/plugins/request-log-plugin.ts';
import { securityHeaders, securityHeadersPlugin } from './http/plugins/security-headers-plugin.ts';
import { problemOf } from './http/problem-of.ts';
import { receiptRoutes } from './http/receipt-routes.ts';
import { webhookRoutes } from './http/webhook-routes.ts';

const MAX_HEADER_BYTES = 16 * 1024;
/** Longest a handler may take: the longest wait of the contract and a margin. */
const HANDLER_MS = 70_000;

/**
 * The gateway as an HTTP application. Everything it does is in this list, in this order; nothing is loaded by looking
 * around.
 */
export async function buildApp(deps: GatewayDeps): Promise<FastifyInstance> {
  const headers = securityHeaders(deps.config.publicUrl);
  const app = Fastify({
    // fastify's own request log would write down query strings, hence authorization codes.
    logger: false,
    genReqId: requestIdOf,
    trustProxy: deps.config.trustProxy.length > 0 ? deps.config.trustProxy : false,
    bodyLimit: 64 * 1024,
    requestTimeout: 15_000,
    connectionTimeout: HANDLER_MS + 20_000,
    keepAliveTimeout: HANDLER_MS + 5_000,
    http: { headersTimeout: 10_000, maxHeaderSize: MAX_HEADER_BYTES },
    // No parameter is longer than the request line: an id of any length is answered by its route, like every unknown one.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES, caseSensitive: true, ignoreTrailingSlash: false },
    // Whoever still gets in while the process stops is served; graceful-close ends the connection.
    return503OnClosing: false,
    // Before any route is found no hook runs, so these answers bring their headers themselves.
    frameworkErrors: (error, request, reply) =>
      sendProblem(request, reply.headers(headers), problemOf(error) ?? problemFor('internal_error')),
    clientErrorHandler: createClientErrorHandler(headers),
  });

  await app.register(requestContextPlugin);
  await app.register(handlerTimeoutPlugin, { timeoutMs: HANDLER_MS });
  await app.register(overloadPlugin, { overload: deps.overload });
  await app.register(gracefulClosePlugin, { stopping: deps.stopping });
  await app.register(metricsPlugin, { metrics: deps.metrics });
  await app.register(requestLogPlugin, { logger: deps.logger });
  await app.register(securityHeadersPlugin, { publicUrl: deps.config.publicUrl });
  await app.register(errorsPlugin, { deps });
  await app.register(healthPlugin, { deps });
  await app.register(clientRoutes, { deps });
  await app.register(receiptRoutes, { deps });
  await app.register(webhookRoutes, { deps });
  await app.register(apiRoutes, { deps });
  await app.register(pageRoutes, { deps });
  return app;
}
