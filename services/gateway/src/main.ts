import { collectStartGarbage } from './collect-start-garbage.ts';
import { loadConfig } from './config/load-config.ts';
import { signInRedirectUriOf } from './flows/redirect-uri.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { createLogger } from './logger.ts';
import { packageVersion } from './package-version.ts';
import { explanationOf } from './start-error.ts';

/** The process: configuration, start, graceful stop. Everything else is in `gateway.ts`. */
const configPath = process.argv[2] ?? process.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
const logger = createLogger({ level: process.env['LOG_LEVEL'] ?? 'info' });

/** Wrappers forward signals, so one Ctrl-C may arrive several times; what comes later is a second one. In ms. */
const SAME_SIGNAL_MS = 1_000;

async function main(): Promise<void> {
  const gateway = await startGateway(loadConfig(configPath, process.env), { logger });
  // Whoever reads that it has started may stop it.
  let stoppingSince: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stoppingSince === undefined) {
        stoppingSince = performance.now();
        logger.info({ event: 'gateway.stopping', signal }, 'gateway stopping');
        // Whoever presses Ctrl-C has no load balancer that must notice first.
        stop(gateway, signal === 'SIGTERM');
      } else if (performance.now() - stoppingSince > SAME_SIGNAL_MS) {
        logger.warn({ event: 'gateway.stop_forced', signal }, 'gateway stops at once');
        process.exit(1);
      }
    });
  }
  collectStartGarbage();
  const { publicUrl, identityProviders } = gateway.deps.config;
  logger.info(
    {
      event: 'gateway.started',
      version: packageVersion,
      address: `http://${gateway.listening}`,
      ...(gateway.metricsAddress === undefined ? {} : { metrics: gateway.metricsAddress }),
      publicUrl,
      // Each is registered at its identity provider.
      signInRedirectUris: Object.fromEntries(
        identityProviders.map(({ name }) => [name, signInRedirectUriOf(publicUrl, name).href]),
      ),
    },
    'gateway started',
  );
}

function stop(gateway: Gateway, drains: boolean): void {
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

process.on('unhandledRejection', error => {
  logger.fatal({ event: 'process.unhandled_rejection', error }, 'unhandled rejection');
  process.exit(1);
});
process.on('uncaughtException', error => {
  logger.fatal({ event: 'process.uncaught_exception', error }, 'uncaught exception');
  process.exit(1);
});

main().catch((error: unknown) => {
  // What the operator must mend is said in plain words; for anything else there is the log.
  const explanation = explanationOf(error);
  if (explanation === undefined) logger.fatal({ event: 'gateway.start_failed', error }, 'gateway did not start');
  else process.stderr.write(`${explanation}\n`);
  process.exit(1);
});
