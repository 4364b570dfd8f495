import { definedOnly } from '@postern/elicitation';
import { type Gateway, startGateway } from './gateway.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { loadConfig } from './platform/config/load-config.ts';
import { watchFiles } from './platform/config/watch-files.ts';
import { watchTerminal } from './platform/controlling-terminal.ts';
import { postLogoutRedirectUriOf, signInRedirectUriOf } from './platform/http/public-urls.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { packageVersion } from './platform/package-version.ts';
import { explanationOf } from './platform/start-error.ts';

/** Wrappers forward signals, so one Ctrl-C may arrive several times within this time, in ms. A later signal is a second Ctrl-C. */
const SAME_SIGNAL_MS = 1_000;

interface ProcessOptions {
  readonly configPath: string;
  readonly logLevel: string;
  /** Called once, when the gateway serves requests. */
  readonly onStarted?: () => void;
}

/** Runs the gateway in this process: reads the configuration, starts the gateway, reloads and stops it on a signal. Never throws. */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const logger = createLogger({ level: options.logLevel });
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
    else process.stderr.write(`${explanation}\n`);
    process.exit(1);
  }
}

async function run({ configPath, onStarted }: ProcessOptions, logger: Logger): Promise<void> {
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
  const watch = watchFiles({
    files: () => (config.reload.watch ? files : []),
    onChange: () => reload().catch(unreported),
  });
  await watch.begin();
  const starting = startGateway(config, { logger });
  const reload = async () => {
    await watch.begin();
    const gateway = await starting;
    await gateway.reload(load);
  };
  const gateway = await starting;
  // Before the `gateway.started` log line: its reader may send a signal immediately.
  let stoppingSince: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && !terminalIsClosed()) {
        if (stoppingSince === undefined) reload().catch(unreported);
      } else if (stoppingSince === undefined) {
        stoppingSince = performance.now();
        logger.info({ event: 'gateway.stopping', signal }, 'gateway stopping');
        // Only SIGTERM drains: after Ctrl-C no load balancer needs time to notice.
        stop(gateway, { drains: signal === 'SIGTERM', logger });
      } else if (performance.now() - stoppingSince > SAME_SIGNAL_MS) {
        logger.warn({ event: 'gateway.stop_forced', signal }, 'gateway stopped immediately');
        process.exit(1);
      }
    });
  }
  const { publicUrl, identityProviders } = gateway.deps.config;
  logger.info(
    {
      event: 'gateway.started',
      version: packageVersion,
      address: `http://${gateway.listening}`,
      ...definedOnly({ metrics: gateway.metricsAddress }),
      publicUrl,
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
  onStarted?.();
}

/** The gateway has logged the failure of a reload. A failed start is reported by `main`. */
const unreported = (): void => {};

function stop(gateway: Gateway, { drains, logger }: { drains: boolean; logger: Logger }): void {
  (drains ? gateway.drain() : Promise.resolve())
    .then(() => gateway.close())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ event: 'gateway.stop_failed', error }, 'gateway did not stop cleanly');
        process.exit(1);
      },
    );
}
