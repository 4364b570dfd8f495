import type { ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { WorkInProgress } from './local/work-in-progress.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { loadConfig } from './platform/config/load-config.ts';
import { hasRedis } from './platform/config/redis-config.ts';
import { notOffered } from './platform/config/store-capabilities.ts';
import { watchFiles } from './platform/config/watch-files.ts';
import { postLogoutRedirectUriOf, signInRedirectUriOf } from './platform/http/public-urls.ts';
import { giveMemoryBack, useLittleMemory } from './platform/little-memory.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { PROCESS_SIGNALS, watchTerminal } from './platform/operating-system.ts';
import { packageVersion } from './platform/package-version.ts';
import { explanationOf, StartError } from './platform/start-error.ts';

/** Wrappers forward signals, so one Ctrl-C may arrive several times within this time, in ms. A later signal is a second Ctrl-C. */
const SAME_SIGNAL_MS = 1_000;

interface ProcessOptions {
  readonly configPath: string;
  readonly logLevel: string;
  /** Called once, when the gateway serves requests. */
  readonly onStarted?: () => void;
  readonly personal?: PersonalOptions;
}

/** Of a personal gateway, which its MCP servers start. */
export interface PersonalOptions {
  readonly idleMs: number;
  readonly version: string;
  readonly logFile: string;
  readonly destination: NodeJS.WritableStream;
  /** Another gateway may have the store or the port. Resolves with true to try once more. */
  readonly tryAgain: () => Promise<boolean>;
}

/** The process of `postern start [configuration]`. */
export const runStart = (configPath = process.env['POSTERN_CONFIG'] ?? 'postern.config.yaml'): Promise<void> =>
  runProcess({ configPath, logLevel: process.env['LOG_LEVEL'] ?? 'info' });

/** Runs the gateway in this process: reads the configuration, starts the gateway, reloads and stops it on a signal. Never throws. */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const logger = createLogger({
    level: options.logLevel,
    destination: options.personal?.destination,
  });
  process.on('unhandledRejection', error => {
    logger.fatal({ event: 'process.unhandled_rejection', error }, 'unhandled rejection');
    process.exit(1);
  });
  process.on('uncaughtException', error => {
    logger.fatal({ event: 'process.uncaught_exception', error }, 'uncaught exception');
    process.exit(1);
  });
  try {
    await run(options, logger);
  } catch (error) {
    // Explains what the operator can fix on stderr; logs other errors.
    const explanation = explanationOf(error);
    if (explanation === undefined) logger.fatal({ event: 'gateway.start_failed', error }, 'gateway did not start');
    else {
      process.stderr.write(`${explanation}\n`);
      // Started in the background, nothing reads it there.
      options.personal?.destination.write(`${explanation}\n`);
    }
    process.exit(1);
  }
}

async function run({ configPath, onStarted, personal }: ProcessOptions, logger: Logger): Promise<void> {
  /** Files that the configuration was last read from. */
  let files = new Set([configPath]);
  const load = (): GatewayConfig => {
    const read = new Set<string>();
    try {
      return loadConfig(configPath, process.env, path => read.add(path));
    } finally {
      files = read;
    }
  };
  const terminalIsClosed = watchTerminal();
  const config = load();
  const isSmall = !hasRedis(config);
  if (isSmall) useLittleMemory();
  let { watch: isWatching } = config.reload;
  const watch = watchFiles({
    files: () => files,
    onChange() {
      if (isWatching) reload().catch(unreported);
    },
  });
  await watch.begin();
  const work = new WorkInProgress(Date.now);
  // A slow start is no idle time.
  using _starting = work.begin();
  // Only a gateway on a file ends by itself: a gateway for other people counts nothing.
  const admission = isSmall ? { admit: (response: ServerResponse) => work.admit(response) } : {};
  const starting = started(config, { logger, ...admission }, personal);
  const reload = async () => {
    await watch.begin();
    const gateway = await starting;
    await gateway.reload(load);
    isWatching = gateway.deps.config.reload.watch;
  };
  const gateway = await starting;
  let stoppingSince: number | undefined;
  const local = openLocal({
    gateway,
    work,
    logger,
    configPath,
    load,
    personal,
    stop(why) {
      // What is under way was not admitted, such as half a request, and the next gateway waits for the store.
      if (why === 'idle' || why === 'taken_over') gateway.httpServer.closeAllConnections();
      end(why, { drains: false, exitCode: why === 'file_gone' ? 1 : 0 });
    },
  });
  await local;
  if (isSmall) setTimeout(giveMemoryBack, 1_000).unref();
  function end(signal: string, how: Pick<Stopping, 'drains' | 'exitCode'>): void {
    if (stoppingSince !== undefined) return;
    stoppingSince = performance.now();
    logger.info({ event: 'gateway.stopping', signal }, 'gateway stopping');
    stop(gateway, { ...how, logger, local });
  }
  // Before the `gateway.started` log line: its reader may send a signal immediately.
  for (const signal of PROCESS_SIGNALS) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && !terminalIsClosed()) {
        if (stoppingSince === undefined) reload().catch(unreported);
      } else if (stoppingSince === undefined) {
        // Only SIGTERM drains: after Ctrl-C no load balancer needs time to notice.
        end(signal, { drains: signal === 'SIGTERM', exitCode: 0 });
      } else if (performance.now() - stoppingSince > SAME_SIGNAL_MS) {
        logger.warn({ event: 'gateway.stop_forced', signal }, 'gateway stopped immediately');
        process.exit(1);
      }
    });
  }
  logStarted(gateway, config, logger);
  onStarted?.();
}

function logStarted(gateway: Gateway, config: GatewayConfig, logger: Logger): void {
  const { publicUrl, identityProviders } = config;
  logger.info(
    {
      event: 'gateway.started',
      version: packageVersion,
      address: `http://${gateway.listening}`,
      metrics: gateway.metricsAddress,
      publicUrl,
      ...(hasRedis(config) ? {} : { file: config.store.file, notOffered: notOffered(config) }),
      // The operator registers each redirect URI at its identity provider.
      signInRedirectUris: Object.fromEntries(
        identityProviders.map(({ name }) => [name, signInRedirectUriOf(publicUrl, name).href]),
      ),
      postLogoutRedirectUris: Object.fromEntries(
        identityProviders
          .filter(({ rpInitiatedLogout }) => rpInitiatedLogout)
          .map(({ name }) => [name, postLogoutRedirectUriOf(publicUrl, name).href]),
      ),
    },
    'gateway started',
  );
}

/** The gateway has logged the failure of a reload. A failed start is reported by `main`. */
const unreported = (): void => {};

/** Another gateway of the same person may be about to end, or may have just started. */
const MAY_PASS: ReadonlySet<string | undefined> = new Set(['file_in_use', 'EADDRINUSE']);

async function started(
  config: GatewayConfig,
  options: GatewayOptions,
  personal: PersonalOptions | undefined,
): Promise<Gateway> {
  for (;;) {
    try {
      return await startGateway(config, options);
    } catch (error) {
      const mayPass = error instanceof StartError && MAY_PASS.has(error.code);
      if (personal === undefined || !mayPass || !(await personal.tryAgain())) throw error;
    }
  }
}

/** Listens for the owner of a gateway that has its store in a file. Undefined for any other gateway. */
async function openLocal(p: {
  readonly gateway: Gateway;
  readonly work: WorkInProgress;
  readonly logger: Logger;
  readonly configPath: string;
  readonly load: () => GatewayConfig;
  readonly personal: PersonalOptions | undefined;
  readonly stop: (why: 'idle' | 'taken_over' | 'local' | 'file_gone') => void;
}): Promise<AsyncDisposable | undefined> {
  const { gateway, work, logger, personal } = p;
  const { config, stores, refreshes } = gateway.deps;
  if (hasRedis(config)) return undefined;
  const storeFile = config.store.file;
  const [{ startLocalServer }, { createOperations }, { watchActivity, whenIdle }] = await Promise.all([
    import('./local/local-server.ts'),
    import('./local/operations.ts'),
    import('./local/activity.ts'),
  ]);
  const version = personal?.version ?? packageVersion;
  const activity = watchActivity({ work, stores, refreshes });
  const serve = createOperations({
    gateway,
    activity,
    version,
    storeFile,
    logger,
    load: p.load,
    stop: p.stop,
    configPath: resolve(p.configPath),
    logFile: personal?.logFile,
    isPersonal: personal !== undefined,
    env: process.env,
    // Loaded for the first command only: it is much of the code.
    runCli: async (args, io) => (await import('./cli/run-cli.ts')).runCli(args, io),
  });
  try {
    const server = await startLocalServer({
      storeFile,
      stores,
      version,
      logger,
      serve,
      onStoreGone() {
        logger.error({ event: 'store.file_gone', file: storeFile }, 'the file of the store has gone; the gateway ends');
        p.stop('file_gone');
      },
    });
    const idle =
      personal &&
      whenIdle({
        activity,
        idleMs: personal.idleMs,
        now: Date.now,
        onIdle: () => p.stop('idle'),
        onError: error => logger.warn({ event: 'local.idle_unknown', error }, 'cannot tell whether anything is open'),
      });
    return {
      async [Symbol.asyncDispose]() {
        await idle?.stop();
        await server[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

interface Stopping {
  readonly drains: boolean;
  readonly exitCode: number;
  readonly logger: Logger;
  /** Callers may stop the gateway before it has opened. */
  readonly local: Promise<AsyncDisposable | undefined>;
}

function stop(gateway: Gateway, { drains, exitCode, logger, local }: Stopping): void {
  (drains ? gateway.drain() : Promise.resolve())
    .then(async () => (await local)?.[Symbol.asyncDispose]())
    .then(() => gateway.close())
    .then(
      () => process.exit(exitCode),
      (error: unknown) => {
        logger.error({ event: 'gateway.stop_failed', error }, 'gateway did not stop cleanly');
        process.exit(1);
      },
    );
}
