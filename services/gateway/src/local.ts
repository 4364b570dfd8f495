import { setTimeout as delay } from 'node:timers/promises';
import { findLocalGateway, LocalError, personalFolder, thisSystem } from '@postern/api/local';
import { CliError, exitCodes } from './cli/cli-io.ts';
import { openLogFile } from './local/log-file.ts';
import { LOCAL_HELP, preparePersonal } from './local/prepare-personal.ts';
import { packageVersion } from './platform/package-version.ts';

const IDLE_MS = 10 * 60_000;
/** Longer than a gateway takes to end, or to listen for its callers after it has opened the store. */
const OTHER_MS = 10_000;
const LOOK_EVERY_MS = 100;

/**
 * Prepares the process of `postern local`: the gateway of one person, which serves the MCP servers that this person's MCP clients start, and
 * ends when nothing needs it any more. Where one runs already, there is nothing to do.
 * @returns undefined if there is nothing to run
 */
export async function localProcess(args: readonly string[]) {
  if (args.length > 0) {
    const isHelp = args.length === 1 && (args[0] === '--help' || args[0] === '-h');
    (isHelp ? process.stdout : process.stderr).write(LOCAL_HELP);
    process.exitCode = isHelp ? exitCodes.ok : exitCodes.usage;
    return undefined;
  }
  try {
    const { config, store, log } = await preparePersonal(personalFolder(thisSystem()));
    let unusable: LocalError | undefined;
    /** A link that cannot be used is none: the lock of the store decides. */
    const isRunning = async () => {
      try {
        using running = await findLocalGateway(store);
        if (running !== undefined) process.stdout.write('Your personal gateway runs already. See postern status.\n');
        return running !== undefined;
      } catch (error) {
        if (!(error instanceof LocalError)) throw error;
        unusable = error;
        return false;
      }
    };
    if (await isRunning()) return undefined;
    const until = performance.now() + OTHER_MS;
    return {
      configPath: config,
      logLevel: process.env['LOG_LEVEL'] ?? 'info',
      onStarted: () => process.stdout.write(`Your personal gateway runs. Its log: ${log}\n`),
      personal: {
        idleMs: IDLE_MS,
        version: packageVersion,
        logFile: log,
        destination: openLogFile(log),
        async tryAgain() {
          if (await isRunning()) process.exit(0);
          await delay(LOOK_EVERY_MS);
          const isInTime = performance.now() < until;
          if (!isInTime && unusable !== undefined) process.stderr.write(`${unusable.message}\n`);
          return isInTime;
        },
      },
    };
  } catch (error) {
    if (!(error instanceof CliError || error instanceof LocalError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = exitCodes.failure;
    return undefined;
  }
}
