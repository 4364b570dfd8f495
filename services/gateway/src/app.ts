import type { FastifyInstance } from 'fastify';
import { apiRoutes } from './api-routes.ts';
import { clientRoutes } from './authorization/client-metadata.ts';
import type { GatewayDeps } from './deps.ts';
import { backChannelLogoutRoutes } from './identity/back-channel-logout.ts';
import { pageRoutes } from './page-routes.ts';
import { processorWebhookRoutes } from './payments/processor-webhooks.ts';
import { receiptRoutes } from './payments/receipt-keys.ts';
import { gatewayProofRoutes } from './platform/http/gateway-proof.ts';
import { healthPlugin } from './platform/http/health-plugin.ts';
import { createHttpApp } from './platform/http/http-app.ts';
import { securityHeaders } from './platform/http/security-headers.ts';

export const MAX_BODY_BYTES = 64 * 1024;
/** Timeout of a handler: the longest waiting read of the contract and a margin. */
export const HANDLER_MS = 70_000;

/** Builds the public application of one configuration, without a listener. Its routes are registered here, in this order. */
export function buildApp(deps: GatewayDeps): Promise<FastifyInstance> {
  const { config, overload, metrics, stopping, logger, noteUnknownLayout, noteQuota } = deps;
  return createHttpApp({
    config,
    limits: { bodyBytes: MAX_BODY_BYTES, handlerMs: HANDLER_MS },
    unroutedHeaders: securityHeaders(config.publicUrl),
    siteUrl: config.publicUrl,
    overload,
    metrics,
    stopping,
    logger,
    noteUnknownLayout,
    noteQuota,
    async routes(app) {
      await app.register(healthPlugin, { deps });
      await app.register(gatewayProofRoutes, { deps });
      await app.register(clientRoutes, { deps });
      await app.register(receiptRoutes, { deps });
      await app.register(processorWebhookRoutes, { deps });
      await app.register(backChannelLogoutRoutes, { deps });
      await app.register(apiRoutes, { deps });
      await app.register(pageRoutes, { deps });
    },
  });
}
