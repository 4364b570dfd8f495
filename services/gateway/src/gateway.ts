import { setTimeout as delay } from 'node:timers/promises';
import { plainName } from '@postern/api';
import type { FastifyInstance } from 'fastify';
import { buildApp } from './app.ts';
import type { GatewayConfig } from './config/config-schema.ts';
import { isLoopbackUrl } from './config/loopback.ts';
import { createDeps, type DepsOptions, type GatewayDeps } from './deps.ts';
import { type EmbeddedRedis, startEmbeddedRedis } from './embedded-redis.ts';
import { closeListener } from './http/close-listener.ts';
import { createReadiness } from './http/readiness.ts';
import { type MetricsListener, startMetricsListener } from './metrics/metrics-listener.ts';
import { namesIn } from './names/registered-names.ts';
import { hasOwnRedis } from './redis-target.ts';
import { type Relay, startRelay } from './relay.ts';
import { relayReports } from './relay-reports.ts';
import { startRewrapper } from './rewrapper.ts';
import { hostPort, listenErrorOf } from './start-error.ts';
import { startSweepers } from './sweepers.ts';
import { startDeliveries } from './webhooks/start-deliveries.ts';

export interface Gateway extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly deps: GatewayDeps;
  /** A URL at which it answers on this machine, which a proxy may hide from the public URL. */
  readonly address: string;
  /** Host and port of its socket. */
  readonly listening: string;
  /** Where its metrics are, if anywhere. */
  readonly metricsAddress: string | undefined;
  readonly relay: Relay;
  /**
   * Readiness says no from now on, and answers end their connections; everything is still served. Resolves after
   * `stop.drainSeconds`, or when closing begins.
   */
  drain(): Promise<void>;
  /** Nobody can connect any more; what waits is answered, what is under way finishes, within `stop.finishSeconds`. */
  close(): Promise<void>;
}

/** Kept-alive connections stay open for this long after nobody can connect any more, in ms. */
const LINGER_MS = 1_000;
/** Connections that the system completes before they are accepted: thousands of callers come at once when a replica leaves. */
const BACKLOG = 4_096;

/** Starts one gateway process's worth of work. Closing it finishes what is under way first; a start that fails leaves nothing running. */
export async function startGateway(config: GatewayConfig, options: DepsOptions): Promise<Gateway> {
  await using opened = new AsyncDisposableStack();
  const redis = await embeddedIfNeeded(config, options);
  if (redis !== undefined) opened.use(redis);
  const deps = opened.use(
    await createDeps(config, redis === undefined ? options : { ...options, redisUrl: redis.url }),
  );
  warnOfFootguns(config, options);
  warnOfNames(deps);
  const relay = startEventRelay(deps);
  const workers = [...startSweepers(deps, options.sweepPauseMs), relay, startRewrapper(deps)];
  for (const worker of workers) opened.defer(() => worker.stop());
  for (const delivery of await startDeliveries(deps)) opened.defer(() => delivery.stop());
  const app = await buildApp(deps);
  opened.defer(() => app.close());
  const { host, port } = config.listen;
  const address = await app.listen({ host, port, backlog: BACKLOG }).catch((error: unknown) => {
    throw listenErrorOf(error, 'listen', config.listen);
  });
  // Fastify names the loopback address for a host that stands for every interface.
  const bound = app.server.address();
  const listening = hostPort(host, typeof bound === 'object' && bound !== null ? bound.port : port);
  const metricsListener = await metricsListenerOf(deps);
  if (metricsListener !== undefined) opened.use(metricsListener);
  const owned = opened.move();
  let closing: Promise<void> | undefined;
  const { stopping } = deps;
  const drain = async () => {
    stopping.drain();
    if (config.stop.drainSeconds === 0 || stopping.closing.aborted) return;
    // Ends early, by an abort, when closing does not wait for it.
    await delay(config.stop.drainSeconds * 1000, undefined, { signal: stopping.closing }).catch(() => undefined);
  };
  const close = () => {
    // Without a time before in which nobody was sent here, nobody expects one afterwards.
    const lingerMs = stopping.draining.aborted ? Math.min(LINGER_MS, config.stop.drainSeconds * 1000) : 0;
    closing ??= (async () => {
      // Each step is taken whatever becomes of those before: tokens that were just issued are still stored in the last ones.
      await using _all = owned;
      const cut = await closeListener(app.server, {
        lingerMs,
        finishMs: config.stop.finishSeconds * 1000,
        onDeaf: () => stopping.close(),
      });
      if (cut > 0) options.logger.warn({ event: 'gateway.stop_cut', connections: cut }, 'requests under way were cut');
    })();
    return closing;
  };
  return {
    app,
    deps,
    address,
    listening,
    relay,
    metricsAddress: metricsListener?.address,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function startEventRelay({ stores: { outbox, leases }, logger, metrics }: GatewayDeps): Relay {
  return startRelay({ outbox, leases, ...relayReports(logger, metrics) });
}

/** What works, but hardly as meant. */
function warnOfFootguns({ redis, publicUrl, trustProxy, mcpServers }: GatewayConfig, { logger }: DepsOptions): void {
  for (const { id, payment } of mcpServers) {
    const thresholds = payment?.passkeyAbove ?? {};
    const currencies = Object.keys(payment?.maxAmount ?? {}).filter(currency => !Object.hasOwn(thresholds, currency));
    // An MCP server that wants to get around the passkey asks in one of them.
    if (Object.keys(thresholds).length > 0 && currencies.length > 0)
      logger.warn(
        { event: 'payment.no_passkey', mcpServerId: id, currencies },
        'payments in some currencies need a passkey, and in these none, however much they are',
      );
  }
  const urls = [redis.url ?? [], redis.cluster ?? [], redis.sentinel?.nodes ?? []].flat();
  if (urls.some(url => url.startsWith('redis:') && !isLoopbackUrl(url))) {
    // Sealed values stay sealed on the wire, but statuses and subjects do not, and neither does the password.
    logger.warn({ event: 'redis.without_tls' }, 'Redis is not on this machine and is reached without TLS');
  }
  if (publicUrl.startsWith('https:') && trustProxy.length === 0) {
    // The gateway itself speaks http, so a proxy stands before it; to the rate limit everybody then has its address.
    logger.warn(
      { event: 'proxy.not_trusted' },
      'trustProxy is empty: all people share one rate limit, that of the proxy',
    );
  }
}

/** Names that the operator writes are shown as they are: the operator knows who people deal with. */
function warnOfNames({ config, registeredNames, logger }: GatewayDeps): void {
  for (const name of namesIn(config)) {
    const other = registeredNames.imitatedBy(name)?.path;
    if (!plainName(80).safeParse(name.text).success)
      logger.warn(
        { event: 'name.not_plain', path: name.path },
        'a configured name has characters that people cannot see or tell apart',
      );
    if (other !== undefined)
      logger.warn(
        { event: 'name.confusable', path: name.path, other },
        'people can take a configured name for another one',
      );
  }
}

async function metricsListenerOf(deps: GatewayDeps): Promise<MetricsListener | undefined> {
  const { metrics, config } = deps;
  if (metrics === undefined || config.metrics === undefined) return undefined;
  return startMetricsListener({ ...config.metrics, registry: metrics.registry, ready: createReadiness(deps) });
}

async function embeddedIfNeeded(config: GatewayConfig, options: DepsOptions): Promise<EmbeddedRedis | undefined> {
  if (options.redisUrl !== undefined || !hasOwnRedis(config.redis)) return undefined;
  return startEmbeddedRedis(config.redis.directory);
}
