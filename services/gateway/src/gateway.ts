import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { OPERATOR_HANDLER_MS } from './admin/operator-turns.ts';
import type { GatewayDeps } from './deps.ts';
import { type Relay, relayReports, startRelay } from './events/relay.ts';
import { createFoundation, type Foundation, type FoundationOptions } from './foundation.ts';
import { createGeneration, type Generation, HANDLER_MS } from './generation.ts';
import type { ConfigChanges } from './platform/config/config-changes.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import type { ConsoleConfig } from './platform/config/console-config.ts';
import { createReadiness } from './platform/http/health-plugin.ts';
import { type ListenerRequests, openListener } from './platform/http/listener.ts';
import { createClientErrorHandler } from './platform/http/problems.ts';
import { securityHeaders } from './platform/http/security-headers.ts';
import { addressOf, UnidentifiedBytes } from './platform/http/unknown-callers.ts';
import type { MetricsListener } from './platform/metrics/metrics-listener.ts';
import { startReplica } from './platform/replica.ts';
import { allEnded, closeListener } from './platform/stopping.ts';
import { createReloader, type ReloadResult } from './reload.ts';
import { startRewrapper } from './sealing/rewrapper.ts';

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
   * configuration, or one that changes what needs a restart, is refused, and the running one stays.
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

/** Starts the gateway: store, workers, the HTTP application. A failed start leaves nothing running. */
export async function startGateway(config: GatewayConfig, options: GatewayOptions): Promise<Gateway> {
  await using opened = new AsyncDisposableStack();
  /** The generation in force, once there is one. */
  let current: Generation | undefined;
  const foundation = opened.use(
    await createFoundation(config, options, {
      mcpServers: () => current?.deps.mcpServers.size ?? 0,
      onKeysWithdrawn: () => current?.endWithdrawn(),
    }),
  );
  const { stopping, overload, logger, metrics } = foundation;
  stopping.closing.addEventListener('abort', () => current?.endWaits(), { once: true });
  current = await createGeneration(foundation, config, options);
  const inForce = (): Generation => {
    if (current === undefined) throw new TypeError('No configuration is in force.');
    return current;
  };
  /** Generations before it, whose work has not ended, and when it has. */
  const retiring = new Map<Pick<Generation, 'close' | 'stopWork'>, Promise<void>>();
  opened.defer(async () => {
    await using all = new AsyncDisposableStack();
    for (const generation of [inForce(), ...retiring.keys()]) all.defer(() => generation.close());
  });
  current.start();
  const relay = startEventRelay(foundation);
  const rewrapper = startRewrapper(foundation);
  let workStopped: Promise<void> | undefined;
  /** Ends the background work of all generations and gives back its leases, once. */
  const stopWork = () => {
    workStopped ??= (async () => {
      await using all = new AsyncDisposableStack();
      for (const worker of [relay, rewrapper]) all.defer(() => worker.stop());
      all.defer(async () => {
        // Stopping also shortens the time that a retiring generation gives its deliveries.
        const former = [...retiring].flatMap(([generation, ended]) => [generation.stopWork(), ended]);
        await allEnded([inForce().stopWork(), ...former]);
      });
    })();
    return workStopped;
  };
  opened.defer(stopWork);

  const reloader = createReloader({
    logger,
    metrics,
    stopping,
    running: () => inForce().deps.config,
    prepare: next => createGeneration(foundation, next, { ...options, before: inForce().deps.config }),
    commit(next, changes) {
      const before = inForce();
      current = next;
      forgetChangedUpstreams(foundation, changes);
      const entry = { close: before.close, stopWork: before.stopWork };
      const ended = before
        .retire(next)
        .catch((error: unknown) => logger.error({ event: 'config.retire_failed', error }, 'retiring failed'))
        .finally(() => retiring.delete(entry));
      retiring.set(entry, ended);
    },
  });
  opened.defer(() => reloader.idle());
  metrics?.configReloaded('started');
  metrics?.watchDeliveries(() => inForce().deliveries());
  const listeners = await openListeners(opened, { foundation, config, admit: options.admit, inForce });
  const { httpServer } = listeners;
  const owned = opened.move();
  let closing: Promise<void> | undefined;
  const drainMs = () => inForce().deps.config.stop.drainSeconds * 1000;
  const drain = async () => {
    stopping.drain();
    if (drainMs() === 0 || stopping.closing.aborted) return;
    // Aborted when closing begins.
    await delay(drainMs(), undefined, { signal: stopping.closing }).catch(() => undefined);
  };
  const replica = startReplica({
    replicaId: foundation.replicaId,
    replicas: foundation.stores.replicas,
    logger,
    requests: () => overload.inFlight,
    isStopping: () => stopping.draining.aborted,
    async drain() {
      await drain();
      // Also while it still listens: waiting reads get the present status, and continue at another replica.
      stopping.close();
      await stopWork();
    },
  });
  owned.defer(() => replica.stop());
  const close = () => {
    // Without a drain, no load balancer needs connections that linger.
    const lingerMs = stopping.draining.aborted ? Math.min(LINGER_MS, drainMs()) : 0;
    closing ??= (async () => {
      // Every step runs even if an earlier one fails: the last steps store tokens that providers have just issued.
      await using _all = owned;
      const cut = await closeListener(httpServer, {
        lingerMs,
        finishMs: inForce().deps.config.stop.finishSeconds * 1000,
        onDeaf: () => stopping.close(),
      });
      if (cut > 0) logger.warn({ event: 'gateway.stop_cut', connections: cut }, 'in-flight requests aborted');
    })();
    return closing;
  };
  return {
    get app() {
      return inForce().app;
    },
    get deps() {
      return inForce().deps;
    },
    httpServer,
    address: listeners.address,
    listening: listeners.listening,
    relay,
    replicaId: replica.replicaId,
    metricsAddress: listeners.metrics,
    get console() {
      const { console: found } = inForce();
      if (found === undefined || listeners.console === undefined) return undefined;
      return { app: found.app, address: listeners.console };
    },
    get adminApi() {
      const { adminApi: app } = inForce();
      if (app === undefined || listeners.adminApi === undefined) return undefined;
      return { app, address: listeners.adminApi };
    },
    reload: reloader.reload,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Local URLs of the listeners. */
interface Listeners {
  readonly httpServer: Server;
  readonly address: string;
  readonly listening: string;
  readonly metrics: string | undefined;
  readonly console: string | undefined;
  readonly adminApi: string | undefined;
}

/**
 * Opens the listeners, which belong to the process. Each asks for every request which configuration is in force.
 * @throws StartError if an address is in use
 */
async function openListeners(
  opened: AsyncDisposableStack,
  p: {
    readonly foundation: Foundation;
    readonly config: GatewayConfig;
    readonly inForce: () => Generation;
    readonly admit: GatewayOptions['admit'];
  },
): Promise<Listeners> {
  const { config, inForce } = p;
  const { overload } = p.foundation;
  /** One budget for all listeners. */
  const fromStrangers = {
    unidentified: opened.use(new UnidentifiedBytes(() => overload.shed('new', 'connection'))),
    addressOf: (request: IncomingMessage) => addressOf(request, inForce().deps.config),
  };
  const admitted =
    (respond: RequestListener): RequestListener =>
    (request, response) => {
      if (p.admit?.(response) === false) request.socket.destroy();
      else respond(request, response);
    };
  const { httpServer, address, listening } = await openListener({
    ...config.listen,
    maxConnections: config.overload.connections,
    handlerMs: HANDLER_MS,
    ...fromStrangers,
    pipelined: overload.pipelined,
    onRequest: admitted((request, response) => inForce().app.routing(request, response)),
    onClientError: createClientErrorHandler(securityHeaders(config.publicUrl)),
    onDrop: () => overload.connectionDropped(),
  });
  opened.defer(() => void httpServer.close());
  const metrics = await startMetrics(inForce().deps, fromStrangers);
  if (metrics !== undefined) opened.use(metrics);
  const forOperators = async (surface: OperatorSurface | undefined, respond: RequestListener) =>
    surface &&
    opened.use(
      await openForOperators(surface, {
        ...fromStrangers,
        onRequest: admitted(respond),
        finishMs: () => inForce().deps.config.stop.finishSeconds * 1000,
      }),
    );
  const { publicUrl, adminApi } = config;
  const console = await forOperators(
    config.console,
    (request, response) => void inForce().console?.respond(request, response),
  );
  const admin = await forOperators(adminApi && { publicUrl, listen: adminApi }, (request, response) =>
    inForce().adminApi?.routing(request, response),
  );
  return {
    httpServer,
    address,
    listening,
    metrics: metrics?.address,
    console: console?.address,
    adminApi: admin?.address,
  };
}

/** An upstream that the configuration changes begins anew, with a closed circuit. */
function forgetChangedUpstreams({ bulkheads }: Foundation, changes: ConfigChanges): void {
  const targets = [
    ['provider', changes.providers],
    ['identity_provider', changes.identityProviders],
    ['processor', changes.processors],
    ['credential_check', changes.mcpServers],
  ] as const;
  for (const [target, { changed, removed }] of targets)
    for (const name of [...changed, ...removed]) bulkheads.forget(target, name);
  if (changes.sections.includes('console')) bulkheads.forget('operator_sign_in', 'console');
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

/** Of requests on one connection of operators. */
const OPERATORS_PIPELINED = 16;
/** Enough for the operators. */
const OPERATORS_CONNECTIONS = 256;

type OperatorSurface = Pick<ConsoleConfig, 'publicUrl' | 'listen'>;

/** Opens the listener of the console, or of the admin API. @throws StartError if the address is in use */
async function openForOperators(
  { publicUrl, listen }: OperatorSurface,
  { finishMs, ...requests }: ListenerRequests & { readonly finishMs: () => number },
): Promise<AsyncDisposable & { readonly address: string }> {
  const { httpServer, address } = await openListener({
    ...listen,
    ...requests,
    maxConnections: OPERATORS_CONNECTIONS,
    handlerMs: OPERATOR_HANDLER_MS,
    pipelined: OPERATORS_PIPELINED,
    onClientError: createClientErrorHandler(securityHeaders(publicUrl)),
    onDrop: () => {},
  });
  return {
    address,
    async [Symbol.asyncDispose]() {
      await closeListener(httpServer, { lingerMs: 0, finishMs: finishMs(), onDeaf: () => {} });
    },
  };
}
