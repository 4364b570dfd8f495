import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startConstellation } from './constellation.ts';
import { choosePorts } from './ports.ts';
import { screen } from './screen.ts';
import { Report } from './unattended/report.ts';
import { playStory } from './unattended/story.ts';

/** Timeout of the whole story, in milliseconds. */
const STORY_LIMIT_MS = 180_000;

/** Timeout of the shutdown, in milliseconds. */
const STOP_LIMIT_MS = 10_000;

const HELP = `Runs the gateway with an example identity provider, provider, MCP server and MCP host, until Ctrl-C.

  --unattended      a browser plays the user, and the demo ends
  --help            show this help
`;

/** `demo` runs until Ctrl-C. `demo --unattended` plays the story without a user. */
async function main(): Promise<number> {
  let values: { readonly unattended?: boolean | undefined; readonly help?: boolean | undefined };
  try {
    ({ values } = parseArgs({ options: { unattended: { type: 'boolean' }, help: { type: 'boolean' } } }));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'The arguments are wrong'}. Try --help.\n`);
    return 2;
  }
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  return values.unattended === true ? await playUnattended() : await stayUp();
}

async function stayUp(): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'postern-demo-log-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const logPath = join(directory, 'gateway.log');
  const log = createWriteStream(logPath);
  const world = stack.use(await startConstellation({ ports: await choosePorts(), log }));
  process.stdout.write(screen(world, logPath));
  await untilSignalled();
  process.stdout.write('\nStopping …\n');
  return 0;
}

/**
 * One Ctrl-C arrives several times: from the terminal, and from each parent process that forwards it. The repeated signals must
 * not interrupt the shutdown, so the handlers stay. The timeout ends a shutdown that hangs.
 */
async function untilSignalled(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  // Writing to stdout fails after SIGHUP: the terminal is closed.
  process.stdout.on('error', () => resolve());
  await promise;
  setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
}

async function playUnattended(): Promise<number> {
  const report = new Report(text => void process.stdout.write(text));
  const began = performance.now();
  const watchdog = setTimeout(() => {
    process.stderr.write(`\nThe story did not finish within ${STORY_LIMIT_MS / 1000} s.\n`);
    process.exit(1);
  }, STORY_LIMIT_MS);
  try {
    const omitted = await playStory(report);
    process.stdout.write(
      `\nAll ${report.steps} steps ${omitted === undefined ? '' : 'that need no Redis '}worked, in ${((performance.now() - began) / 1000).toFixed(1)} s.\n`,
    );
    if (omitted !== undefined) process.stdout.write(`\n${omitted}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`\n${error instanceof Error ? `${error.name}: ${error.message}` : 'Failed.'}\n`);
    return 1;
  } finally {
    clearTimeout(watchdog);
  }
}

// Exits even if a failed story left a tab or a connection open.
process.exit(await main());
