import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type AdminProcess, actsToLog, createAdminAudit } from './admin/admin-audit.ts';
import { startJobRunner } from './admin/job-runner.ts';
import { noteKeysOf } from './admin/key-report.ts';
import { apiRoutes } from './api-routes.ts';
import { clientRoutes } from './authorization/client-metadata.ts';
import { warnOfConfusableNames, warnOfRiskyConfig } from './config-warnings.ts';
import { createDeps, type GatewayDeps } from './deps.ts';
import { openDeliveries } from './events/webhooks/start-deliveries.ts';
import type { EndpointDeliveries } from './events/webhooks/webhooks.ts';
import type { Foundation } from './foundation.ts';
import { backChannelLogoutRoutes } from './identity/back-channel-logout.ts';
import { pageRoutes } from './page-routes.ts';
import { processorWebhookRoutes } from './payments/processor-webhooks.ts';
import { receiptRoutes } from './payments/receipt-keys.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { gatewayProofRoutes } from './platform/http/gateway-proof.ts';
import { healthPlugin } from './platform/http/health-plugin.ts';
import { createHttpApp } from './platform/http/http-app.ts';
import { securityHeaders } from './platform/http/security-headers.ts';
import { allEnded } from './platform/stopping.ts';
import { startSweepers } from './sweepers.ts';

export const MAX_BODY_BYTES = 64 * 1024;
/** Timeout of a handler: the longest waiting read of the contract and a margin. */
export const HANDLER_MS = 70_000;

/**
 * A configuration at work: everything but what the process keeps (`Foundation`). It never changes: a reload begins another one, and ends
 * this one as a stopping replica ends.
 */
export interface Generation {
  readonly deps: GatewayDeps;
  readonly app: FastifyInstance;
  /** Undefined unless configured. */
  readonly console: AppOnDemand | undefined;
  /** Undefined unless configured. */
  readonly adminApi: FastifyInstance | undefined;
  deliveries(): Promise<readonly EndpointDeliveries[]>;
  /**
   * Begins the background work, and cannot fail.
   * @param before resolves when the webhooks of the generation before have given back their leases
   */
  start(before?: Promise<unknown>): void;
  /**
   * Starts the next generation, which decides from now on whose requests get a response. Waiting reads respond with the present status,
   * event streams end, and requests under way end under this configuration. All begins in this turn of the event loop.
   * @returns resolves when all has ended
   */
  retire(next: Generation): Promise<void>;
  /** Waiting reads respond with the present status, and event streams end. */
  endWaits(): void;
  /** Ends the waits of callers whose API keys were revoked. */
  endWithdrawn(): void;
  /** Ends the background work and gives back its leases. */
  stopWork(): Promise<void>;
  /** Ends everything, also while it retires. No request is under way. */
  close(): Promise<void>;
}

/** An application that is loaded and built for its first request. */
export interface AppOnDemand {
  app(): Promise<FastifyInstance>;
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/**
 * Prepares a configuration beside the one in force, and begins nothing.
 * @param before the configuration in force
 * @param sweepPauseMs replaces the interval of the sweepers, in milliseconds, in tests
 * @throws StartError, ConfigError, StoreUnavailableError
 */
export async function createGeneration(
  foundation: Foundation,
  config: GatewayConfig,
  { before, sweepPauseMs }: { readonly before?: GatewayConfig; readonly sweepPauseMs?: number } = {},
): Promise<Generation> {
  const ending = new AbortController();
  const retired = new AbortController();
  await using refused = new AsyncDisposableStack();
  // What refused the configuration is what the caller must hear of.
  refused.defer(() =>
    foundation.outboundPool
      .discard()
      .catch((error: unknown) =>
        foundation.logger.error({ event: 'outbound.discard_failed', error }, 'closing connections failed'),
      ),
  );
  const deps = await createDeps(foundation, config, { ending: ending.signal, retired: retired.signal });
  const app = await buildApp(deps);
  const adminProcess = gatewayProcess(deps);
  const console = consoleIfConfigured(deps, adminProcess);
  const adminApi = await buildAdminApiIfConfigured(deps, adminProcess);
  // The last part that can fail: it has connections.
  const webhooks = await openDeliveries(foundation, config, { before, sweepPauseMs });
  refused.move();
  let workers: readonly { stop(): Promise<void> }[] = [];
  let notingKeys: Promise<void> | undefined;

  function endWaits(): void {
    ending.abort();
    void deps.eventStreams.close();
  }

  async function stopWork(endWebhooks = async () => webhooks?.stop()): Promise<void> {
    await allEnded([endWebhooks(), ...workers.map(worker => worker.stop())]);
  }

  async function closeApps(): Promise<void> {
    await Promise.all([console?.close(), adminApi?.close()]);
  }

  async function windDown(): Promise<void> {
    await using all = new AsyncDisposableStack();
    all.defer(closeApps);
    // Operators may still read: no handler takes longer.
    if (console !== undefined || adminApi !== undefined)
      all.defer(() =>
        delay(HANDLER_MS, undefined, { ref: false, signal: foundation.stopping.closing }).catch(() => undefined),
      );
    await stopWork(async () => webhooks?.retire());
  }

  return {
    deps,
    app,
    console,
    adminApi,
    deliveries: async () => (await webhooks?.deliveries()) ?? [],
    start(before) {
      foundation.outboundPool.keep();
      warnOfRiskyConfig(config, deps);
      warnOfConfusableNames(deps);
      notingKeys = noteKeysOf(config, deps);
      const pollMs = sweepPauseMs === undefined ? {} : { pollMs: sweepPauseMs };
      workers = [...startSweepers(deps, sweepPauseMs), startJobRunner({ ...deps, ...pollMs, adminProcess })];
      webhooks?.start(before);
    },
    retire(next) {
      retired.abort();
      deps.callers.replaceBy(next.deps.callers);
      endWaits();
      next.start(webhooks?.release());
      return windDown();
    },
    endWaits,
    endWithdrawn() {
      deps.waitingRequests.endWithdrawn();
      deps.eventStreams.endWithdrawn();
    },
    stopWork: () => stopWork(),
    async close() {
      await using all = new AsyncDisposableStack();
      all.defer(async () => notingKeys);
      all.defer(() => deps.eventStreams.close());
      all.defer(() => stopWork());
      all.defer(closeApps);
      endWaits();
    },
  };
}

/** Builds the public application of one configuration, without a listener. Its routes are registered here, in this order. */
function buildApp(deps: GatewayDeps): Promise<FastifyInstance> {
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

/** What the verbs and jobs of operators have in a gateway: they write to its log, as all events do. */
function gatewayProcess({ stores, pseudonym, now, logger, auditLog, upstreamOf }: GatewayDeps): AdminProcess {
  return {
    record: createAdminAudit({ audits: stores.audits, pseudonym, now, write: actsToLog(logger) }),
    connectionRemoved: async (_actor, removed) => auditLog.record('admin.connection_removed', removed),
    jobFailed: failure => logger.error({ event: 'job.failed', ...failure }, 'a job failed'),
    pausedMs: provider => upstreamOf('provider', provider).pausedMs,
  };
}

/** Loads the console only for its first request: most gateways of one person never get any. */
function consoleIfConfigured(deps: GatewayDeps, adminProcess: AdminProcess): AppOnDemand | undefined {
  const { console } = deps.config;
  if (console === undefined) return undefined;
  let building: Promise<FastifyInstance> | undefined;
  const build = async () => {
    const [{ buildConsole }, { createAdminService }] = await Promise.all([
      import('./console/console-app.ts'),
      import('./admin/admin-service.ts'),
    ]);
    return buildConsole({ ...deps, admin: createAdminService({ ...deps, adminProcess }) }, console);
  };
  const app = () => {
    building ??= build().catch(error => {
      building = undefined;
      throw error;
    });
    return building;
  };
  return {
    app,
    async respond(request, response) {
      try {
        (await app()).routing(request, response);
      } catch (error) {
        deps.logger.error({ event: 'console.failed', error }, 'the console cannot be built');
        response.writeHead(500, securityHeaders(console.publicUrl)).end();
      }
    },
    async close() {
      await (await building)?.close();
    },
  };
}

/** Loads the admin API only if it is configured. */
async function buildAdminApiIfConfigured(
  deps: GatewayDeps,
  adminProcess: AdminProcess,
): Promise<FastifyInstance | undefined> {
  if (deps.config.adminApi === undefined) return undefined;
  const [{ buildAdminApi }, { createAdminService }] = await Promise.all([
    import('./admin-api/admin-api-app.ts'),
    import('./admin/admin-service.ts'),
  ]);
  return buildAdminApi({ ...deps, admin: createAdminService({ ...deps, adminProcess }) });
}
