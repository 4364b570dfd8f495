import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { startJobRunner } from './admin/job-runner.ts';
import { noteKeysOf } from './admin/key-report.ts';
import { buildApp, HANDLER_MS } from './app.ts';
import { warnOfConfusableNames, warnOfRiskyConfig } from './config-warnings.ts';
import type { ConsoleListener } from './console/start-console.ts';
import { createDeps, type GatewayDeps } from './deps.ts';
import { type Relay, relayReports, startRelay } from './events/relay.ts';
import { startDeliveries } from './events/webhooks/start-deliveries.ts';
import { createFoundation, type Foundation, type FoundationOptions } from './foundation.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { addressOf } from './platform/http/addresses.ts';
import { createReadiness } from './platform/http/health-plugin.ts';
import { type ListenerRequests, openListener } from './platform/http/listener.ts';
import { createClientErrorHandler } from './platform/http/problems.ts';
import { securityHeaders } from './platform/http/security-headers.ts';
import { UnidentifiedBytes } from './platform/http/unidentified.ts';
import type { MetricsListener } from './platform/metrics/metrics-listener.ts';
import { startReplica } from './platform/replica.ts';
import { closeListener } from './platform/stopping.ts';
import { createReloader, type ReloadResult } from './reload.ts';
import { startRewrapper } from './sealing/rewrapper.ts';
import { startSweepers } from './sweepers.ts';

export interface Gateway extends AsyncDisposable {
  /** Of the configuration in force. */
  readonly app: FastifyInstance;
  /** Of the configuration in force. */
  readonly deps: GatewayDeps;
  /** The public listener, which lives as long as the process. */
  readonly httpServer: Server;
  /** Local URL of the listener, behind any proxy. */
  readonly address: string;
  /** Host and port of the listener, as configured. */
  readonly listening: string;
  /** Address of the metrics listener, if configured. */
  readonly metricsAddress: string | undefined;
  /** The application of the console under the configuration in force, and its local URL. Undefined unless configured. */
  readonly console: { readonly app: () => Promise<FastifyInstance>; readonly address: string } | undefined;
  /** The application of the admin API under the configuration in force, and its local URL. Undefined unless configured. */
  readonly adminApi: { readonly app: FastifyInstance; readonly address: string } | undefined;
  readonly relay: Relay;
  /** Id in the list of replicas. */
  readonly replicaId: string;
  /**
   * Loads a configuration and serves it from now on. Requests under way end under the one that they began under. A faulty
   * configuration, or one that changes a section that needs a restart, is refused, and the running one stays.
   * @param load returns the new configuration or throws `ConfigError`. Concurrent calls load at least once after the last call.
   */
  reload(load: () => GatewayConfig): Promise<ReloadResult>;
  /**
   * Fails the readiness check and ends connections after their response, but still serves requests. Resolves after
   * `stop.drainSeconds`, or when closing begins.
   */
  drain(): Promise<void>;
  /** Stops listening, responds to waiting reads and finishes in-flight requests within `stop.finishSeconds`. */
  close(): Promise<void>;
}

export interface GatewayOptions extends FoundationOptions {
  /** Replaces the interval of the sweepers, in milliseconds, in tests. */
  readonly sweepPauseMs?: number;
  /** Asked for each request of users, MCP servers and operators. One that is not admitted is reset, as if nothing listened. */
  readonly admit?: (response: ServerResponse) => boolean;
}

/** How long idle connections stay open after the listener has closed, in ms. */
const LINGER_MS = 1_000;

/** A configuration at work: its parts and the application that serves its requests. */
interface Generation {
  readonly deps: GatewayDeps;
  readonly app: FastifyInstance;
  /** Undefined unless configured. */
  readonly console: AppOnDemand | undefined;
  /** Undefined unless configured. */
  readonly adminApi: FastifyInstance | undefined;
}

/** Starts the gateway: store, workers, the HTTP application. A failed start leaves nothing running. */
export async function startGateway(config: GatewayConfig, options: GatewayOptions): Promise<Gateway> {
  await using opened = new AsyncDisposableStack();
  const foundation = opened.use(await createFoundation(config, options));
  const { stopping, callersInForce, waitingRequests, eventStreams, bulkheads } = foundation;
  const generate = async (next: GatewayConfig, previous?: GatewayDeps): Promise<Generation> => {
    const deps = await createDeps(foundation, next, previous?.mcpServers);
    return {
      deps,
      app: await buildApp(deps),
      console: consoleIfConfigured(deps),
      adminApi: await buildAdminApiIfConfigured(deps),
    };
  };
  let inForce = await generate(config);
  callersInForce.replace(inForce.deps.callers);
  warnOfRiskyConfig(config, options);
  warnOfConfusableNames(inForce.deps);
  let notingKeys = noteKeysOf(config, foundation);
  opened.defer(() => notingKeys);
  const relay = startEventRelay(foundation);
  const sweepers = startSweepers(foundation, () => inForce.deps, options.sweepPauseMs);
  const jobs = startJobRunner({
    ...foundation,
    inForce: () => inForce.deps,
    ...(options.sweepPauseMs === undefined ? {} : { pollMs: options.sweepPauseMs }),
  });
  const workers = [...sweepers, relay, jobs, startRewrapper(foundation)];
  const deliveries = await startDeliveries(foundation, config, options.sweepPauseMs);
  let idling: Promise<void> | undefined;
  /** Ends the background work and gives back its leases, once. */
  const idle = () => {
    idling ??= (async () => {
      await using all = new AsyncDisposableStack();
      for (const worker of [...workers, deliveries]) all.defer(() => worker.stop());
    })();
    return idling;
  };
  opened.defer(idle);

  const reloader = createReloader({
    ...foundation,
    running: () => inForce.deps.config,
    async prepare(next) {
      const generation = await generate(next, inForce.deps);
      if (idling === undefined) await deliveries.prepare(next);
      return generation;
    },
    async commit(next, { providers, mcpServers }) {
      // In one turn of the event loop: no request sees a mixture, and no waiter of a removed MCP server learns anything more.
      const before = inForce;
      inForce = next;
      callersInForce.replace(next.deps.callers);
      waitingRequests.endOutdated();
      eventStreams.endOutdated();
      for (const name of [...providers.changed, ...providers.removed]) bulkheads.forget('provider', name);
      for (const id of [...mcpServers.changed, ...mcpServers.removed]) bulkheads.forget('credential_check', id);
      warnOfRiskyConfig(next.deps.config, options);
      warnOfConfusableNames(next.deps);
      notingKeys = noteKeysOf(next.deps.config, foundation);
      if (idling === undefined) await deliveries.apply(next.deps.config);
      await Promise.all([before.console?.close(), before.adminApi?.close()]);
    },
  });
  opened.defer(() => reloader.idle());
  foundation.metrics?.configReloaded('started');
  /** One budget for all listeners. */
  const fromStrangers = {
    unidentified: opened.use(new UnidentifiedBytes(() => foundation.overload.shed('new', 'connection'))),
    addressOf: (request: IncomingMessage) => addressOf(request, inForce.deps.config),
  };
  const admitted =
    (respond: RequestListener): RequestListener =>
    (request, response) => {
      if (options.admit?.(response) === false) request.socket.destroy();
      else respond(request, response);
    };
  const { httpServer, address, listening } = await openListener({
    ...config.listen,
    maxConnections: config.overload.connections,
    handlerMs: HANDLER_MS,
    ...fromStrangers,
    pipelined: foundation.overload.pipelined,
    onRequest: admitted((request, response) => inForce.app.routing(request, response)),
    onClientError: createClientErrorHandler(securityHeaders(config.publicUrl)),
    onDrop: () => foundation.overload.connectionDropped(),
  });
  opened.defer(() => void httpServer.close());
  const metricsListener = await startMetrics(inForce.deps, fromStrangers);
  if (metricsListener !== undefined) opened.use(metricsListener);
  opened.defer(async () => inForce.console?.close());
  const consoleListener = await startConsole(config, {
    ...fromStrangers,
    onRequest: admitted((request, response) => void inForce.console?.respond(request, response)),
  });
  if (consoleListener !== undefined) opened.use(consoleListener);
  opened.defer(async () => inForce.adminApi?.close());
  const adminListener = await startAdminApi(config, {
    ...fromStrangers,
    onRequest: admitted((request, response) => inForce.adminApi?.routing(request, response)),
  });
  if (adminListener !== undefined) opened.use(adminListener);
  const owned = opened.move();
  let closing: Promise<void> | undefined;
  const drain = async () => {
    stopping.drain();
    if (config.stop.drainSeconds === 0 || stopping.closing.aborted) return;
    // Aborted when closing begins.
    await delay(config.stop.drainSeconds * 1000, undefined, { signal: stopping.closing }).catch(() => undefined);
  };
  const replica = startReplica({
    replicaId: foundation.replicaId,
    replicas: foundation.stores.replicas,
    logger: options.logger,
    requests: () => foundation.overload.inFlight,
    isStopping: () => stopping.draining.aborted,
    async drain() {
      await drain();
      // Also while it still listens: waiting reads get the present status, and continue at another replica.
      stopping.close();
      await idle();
    },
  });
  owned.defer(() => replica.stop());
  const close = () => {
    // Without a drain, no load balancer needs connections that linger.
    const lingerMs = stopping.draining.aborted ? Math.min(LINGER_MS, config.stop.drainSeconds * 1000) : 0;
    closing ??= (async () => {
      // Every step runs even if an earlier one fails: the last steps store tokens that providers have just issued.
      await using _all = owned;
      const cut = await closeListener(httpServer, {
        lingerMs,
        finishMs: config.stop.finishSeconds * 1000,
        onDeaf: () => stopping.close(),
      });
      if (cut > 0) options.logger.warn({ event: 'gateway.stop_cut', connections: cut }, 'in-flight requests aborted');
    })();
    return closing;
  };
  return {
    get app() {
      return inForce.app;
    },
    get deps() {
      return inForce.deps;
    },
    httpServer,
    address,
    listening,
    relay,
    replicaId: replica.replicaId,
    metricsAddress: metricsListener?.address,
    get console() {
      const { console: found } = inForce;
      if (found === undefined || consoleListener === undefined) return undefined;
      return { app: found.app, address: consoleListener.address };
    },
    get adminApi() {
      const { adminApi: app } = inForce;
      return app === undefined || adminListener === undefined ? undefined : { app, address: adminListener.address };
    },
    reload: reloader.reload,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function startEventRelay({ stores: { outbox, leases }, logger, metrics }: Foundation): Relay {
  return startRelay({ outbox, leases, ...relayReports(logger, metrics) });
}

async function startMetrics(
  deps: GatewayDeps,
  requests: Omit<ListenerRequests, 'onRequest'>,
): Promise<MetricsListener | undefined> {
  const { metrics, config } = deps;
  if (metrics === undefined || config.metrics === undefined) return undefined;
  const { startMetricsListener } = await import('./platform/metrics/metrics-listener.ts');
  return startMetricsListener({
    ...config.metrics,
    ...requests,
    registry: metrics.registry,
    ready: createReadiness(deps),
  });
}

/** An application that is loaded and built for its first request. */
interface AppOnDemand {
  app(): Promise<FastifyInstance>;
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** Loads the console only for its first request: most gateways of one person never get any. */
function consoleIfConfigured(deps: GatewayDeps): AppOnDemand | undefined {
  const { console } = deps.config;
  if (console === undefined) return undefined;
  let building: Promise<FastifyInstance> | undefined;
  const build = async () => {
    const [{ buildConsole }, { createAdminService }] = await Promise.all([
      import('./console/console-app.ts'),
      import('./admin/admin-service.ts'),
    ]);
    return buildConsole({ ...deps, admin: createAdminService(deps) }, console);
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

async function startConsole(
  { console, stop }: GatewayConfig,
  requests: ListenerRequests,
): Promise<ConsoleListener | undefined> {
  if (console === undefined) return undefined;
  const { openConsoleListener } = await import('./console/start-console.ts');
  return openConsoleListener(console, { ...requests, finishMs: stop.finishSeconds * 1000 });
}

/** Loads the admin API only if it is configured. */
async function buildAdminApiIfConfigured(deps: GatewayDeps): Promise<FastifyInstance | undefined> {
  if (deps.config.adminApi === undefined) return undefined;
  const [{ buildAdminApi }, { createAdminService }] = await Promise.all([
    import('./admin-api/admin-api-app.ts'),
    import('./admin/admin-service.ts'),
  ]);
  return buildAdminApi({ ...deps, admin: createAdminService(deps) });
}

async function startAdminApi(
  { adminApi, publicUrl, stop }: GatewayConfig,
  requests: ListenerRequests,
): Promise<ConsoleListener | undefined> {
  if (adminApi === undefined) return undefined;
  const { openConsoleListener } = await import('./console/start-console.ts');
  return openConsoleListener({ publicUrl, listen: adminApi }, { ...requests, finishMs: stop.finishSeconds * 1000 });
}
