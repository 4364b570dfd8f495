import { existsSync, readFileSync } from 'node:fs';
import {
  findLocalGateway,
  LocalError,
  type LocalGateway,
  LocalRefusal,
  localStatusSchema,
  personalFiles,
  personalFolder,
  stoppedSchema,
  thisSystem,
} from '@postern/api/local';
import { documentAt } from '../platform/config/load-config.ts';
import { CliError, type CliIo, counted, type ExitCode, exitCodes } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { gatewayOf } from './through-gateway.ts';

/** The gateway of the configuration that was named, or else the personal one. @throws CliError, LocalError */
async function found({ values, configPath }: Invocation, io: CliIo): Promise<LocalGateway | undefined> {
  if (isNamed({ values }, io)) {
    if (documentAt(configPath) === undefined) throw new CliError(`${configPath} cannot be read.`);
    return gatewayOf(configPath, io);
  }
  return await findLocalGateway(filesIn(io).store);
}

const isNamed = ({ values }: Pick<Invocation, 'values'>, { env }: CliIo): boolean =>
  (values.config ?? env['POSTERN_CONFIG']) !== undefined;

/** @throws LocalError */
const filesIn = ({ env }: CliIo) => personalFiles(personalFolder(thisSystem(env)));

/** @throws CliError */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LocalError || error instanceof LocalRefusal ? new CliError(error.message) : error;
  }
}

/** `postern status`: exits with 1 if no gateway runs. */
async function status(p: Invocation, io: CliIo): Promise<ExitCode> {
  using gateway = await found(p, io);
  if (gateway === undefined) {
    const { log } = isNamed(p, io) ? {} : filesIn(io);
    const why = log && whyEnded(log);
    if (p.json) io.out(`${JSON.stringify({ running: false, ...(why && { why }) })}\n`);
    else io.err(`No gateway runs.${log === undefined ? '' : ` Its log: ${log}`}\n${why ? `${why}\n` : ''}`);
    return exitCodes.failure;
  }
  const running = await gateway.ask({ operation: 'status' }, localStatusSchema);
  if (p.json) io.out(`${JSON.stringify({ running: true, ...running })}\n`);
  else {
    const { version, pid, url, console, config, store, log, openAsks, idleSince, mcpServers } = running;
    const lines = [
      `Postern ${version} runs at ${url} (process ${pid}).`,
      `${counted(openAsks, 'open ask')}; last request ${idleSince}`,
      `MCP servers: ${mcpServers.join(', ') || 'none'}`,
      ...(console === undefined ? [] : [`Console: ${console}`]),
      `Configuration: ${config}`,
      `Store: ${store}`,
      ...(log === undefined ? [] : [`Log: ${log}`]),
    ];
    io.out(`${lines.join('\n')}\n`);
  }
  return exitCodes.ok;
}

/** What the last start explained in the log, if it failed. Any other line is JSON. */
function whyEnded(log: string): string {
  if (!existsSync(log)) return '';
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  return lines.slice(lines.findLastIndex(line => line.startsWith('{')) + 1).join('\n');
}

/** `postern stop`: also done if no gateway runs. */
async function stop(p: Invocation, io: CliIo): Promise<ExitCode> {
  using gateway = await found(p, io);
  if (gateway !== undefined) {
    await gateway.ask({ operation: 'stop', ifIdle: false }, stoppedSchema);
    await gateway.ended();
  }
  if (p.json) io.out(`${JSON.stringify({ stopped: gateway !== undefined })}\n`);
  else io.err(gateway === undefined ? 'No gateway runs.\n' : 'The gateway stops.\n');
  return exitCodes.ok;
}

const own = { json: 'document', changes: false, isLocal: true } as const;

export const localCommands: readonly Command[] = [
  {
    ...own,
    name: 'status',
    about: 'show whether your personal gateway, or that of --config, runs: address, open asks, log',
    failure: 'no gateway runs',
    run: (p, io) => explained(() => status(p, io)),
  },
  {
    ...own,
    name: 'stop',
    about: 'end your personal gateway, or that of --config on this machine',
    run: (p, io) => explained(() => stop(p, io)),
  },
];
