import type { FastifyInstance } from 'fastify';
import { apiRoutes } from './api-routes.ts';
import { clientRoutes } from './authorization/client-metadata.ts';
import type { GatewayDeps } from './deps.ts';
import { backChannelLogoutRoutes } from './identity/back-channel-logout.ts';
import { pageRoutes } from './page-routes.ts';
import { processorWebhookRoutes } from './payments/processor-webhooks.ts';
import { receiptRoutes } from './payments/receipt-keys.ts';
import { createApp } from './platform/http/create-app.ts';
import { gatewayProofRoutes } from './platform/http/gateway-proof.ts';
import { handlerTimeoutPlugin } from './platform/http/handler-timeout-plugin.ts';
import { healthPlugin } from './platform/http/health-plugin.ts';
import { errorsPlugin } from './platform/http/problems.ts';
import { requestContextPlugin, requestLogPlugin } from './platform/http/request-context.ts';
import { securityHeaders, securityHeadersPlugin } from './platform/http/security-headers-plugin.ts';
import { metricsPlugin } from './platform/metrics/metrics-plugin.ts';
import { overloadPlugin } from './platform/overload/overload-plugin.ts';
import { gracefulClosePlugin } from './platform/stopping.ts';

export const MAX_BODY_BYTES = 64 * 1024;
/** Timeout of a handler: the longest waiting read of the contract and a margin. */
export const HANDLER_MS = 70_000;

/**
 * Builds the HTTP application of one configuration, without a listener. Its plugins and routes are registered here, in this order; there
 * is no autoloading.
 */
export async function buildApp(deps: GatewayDeps): Promise<FastifyInstance> {
  const headers = securityHeaders(deps.config.publicUrl);
  const app = createApp({ config: deps.config, bodyLimit: MAX_BODY_BYTES, headers });
  await app.register(requestContextPlugin);
  await app.register(handlerTimeoutPlugin, { timeoutMs: HANDLER_MS });
  await app.register(overloadPlugin, { overload: deps.overload });
  await app.register(gracefulClosePlugin, { stopping: deps.stopping });
  await app.register(metricsPlugin, { metrics: deps.metrics });
  await app.register(requestLogPlugin, { logger: deps.logger });
  await app.register(securityHeadersPlugin, { publicUrl: deps.config.publicUrl });
  await app.register(errorsPlugin, { deps });
  await app.register(healthPlugin, { deps });
  await app.register(gatewayProofRoutes, { deps });
  await app.register(clientRoutes, { deps });
  await app.register(receiptRoutes, { deps });
  await app.register(processorWebhookRoutes, { deps });
  await app.register(backChannelLogoutRoutes, { deps });
  await app.register(apiRoutes, { deps });
  await app.register(pageRoutes, { deps });
  await app.ready();
  return app;
}
