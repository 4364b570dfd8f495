import { parseArgs } from 'node:util';
import { VaultError } from '@postern/vault';
import { explanationOf } from '../platform/start-error.ts';
import { adminCredentialsCommands } from './admin-credentials-commands.ts';
import { apiKeysCommands } from './api-keys-commands.ts';
import { auditCommands } from './audit-commands.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, printable, UsageError } from './cli-io.ts';
import { type Command, cliOptions, type OptionName } from './command.ts';
import { elicitationsCommands } from './elicitations-show.ts';
import { findCommands } from './find.ts';
import { init } from './init/init.ts';
import { jobsCommands } from './jobs-commands.ts';
import { localCommands } from './local-commands.ts';
import { newKeyCommands } from './new-key-commands.ts';
import { paymentsCommands } from './payments-commands.ts';
import { passkeysCommands, peopleCommands } from './people-commands.ts';
import { redisCommands } from './redis-accept-loss.ts';
import { replicasCommands } from './replicas-commands.ts';
import { runInGateway } from './through-gateway.ts';
import { vaultCommands } from './vault-rewrap.ts';
import { webhooksCommands } from './webhooks-commands.ts';

/** Commands that load libraries which no other command needs. */
const heavyCommands: readonly Command[] = [
  {
    name: 'check',
    parameters: ['[file]'],
    about: 'look for faults before users do: configuration, Redis, providers, keys, clock, publicUrl',
    options: { 'token-file': true },
    json: 'document',
    changes: false,
    isLocal: true,
    failure: 'a check failed',
    run: async (p, io) => (await import('./check/check.ts')).check(p, io),
  },
  {
    name: 'pages preview',
    about: 'show every page with the branding of the configuration, in a browser; needs no Redis',
    options: { out: 'write the pages to this new folder instead' },
    json: 'never',
    changes: false,
    isLocal: true,
    run: async (p, io) => (await import('./pages-preview.ts')).pagesPreview(p, io),
  },
  {
    name: 'mcp-servers add',
    parameters: ['<id>'],
    about: 'add an MCP server to the configuration file, and print its API key once',
    options: {
      url: true,
      name: true,
      providers: true,
      issuer: 'issuer of its users, if there are several identity providers',
      out: 'write the key to this new file instead of standard output',
    },
    json: 'document',
    changes: false,
    isLocal: true,
    failure: 'the running gateway does not accept the key within ten seconds',
    run: async (p, io) => (await import('./mcp-servers-add.ts')).mcpServersAdd(p, io),
  },
];

/** Every command of operators that `runCli` runs, in the order of the help. `start`, `dev` and `init` have arguments of their own. */
export const commandTable: readonly Command[] = [
  ...heavyCommands,
  ...localCommands,
  ...vaultCommands,
  ...newKeyCommands,
  ...redisCommands,
  ...replicasCommands,
  ...apiKeysCommands,
  ...adminCredentialsCommands,
  ...auditCommands,
  ...findCommands,
  ...elicitationsCommands,
  ...peopleCommands,
  ...jobsCommands,
  ...paymentsCommands,
  ...passkeysCommands,
  ...webhooksCommands,
];

/** Runs one command. Prints no control characters of others, see `printable`. Never throws. */
export async function runCli(args: readonly string[], terminal: CliIo): Promise<ExitCode> {
  const io = printing(terminal);
  try {
    if (args[0] === 'init') return await init(args.slice(1), io);
    const { values, positionals } = parse(args);
    const command = commandOf(positionals);
    if (values.help === true || positionals.length === 0) {
      io.out(command === undefined ? HELP : helpOf(command));
      return exitCodes.ok;
    }
    if (command === undefined) throw new UsageError(`There is no command "${positionals.join(' ')}".`);
    const rest = positionals.slice(command.name.split(' ').length);
    refuseForeign(command, Object.keys(values), rest.length);
    const configPath = values.config ?? io.env['POSTERN_CONFIG'] ?? 'postern.config.yaml';
    const isElsewhere = command.isLocal !== true && io.store === undefined && values.url === undefined;
    // Printable already, in pieces that may end within a character.
    const ran = isElsewhere ? await runInGateway(args, configPath, terminal) : undefined;
    if (ran !== undefined) return ran;
    return await command.run(
      {
        configPath,
        json: values.json === true,
        dryRun: values['dry-run'] === true,
        args: rest,
        values,
      },
      io,
    );
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`${error.message}\nTry: postern --help\n`);
      return exitCodes.usage;
    }
    io.err(`${textOf(error)}\n`);
    return exitCodes.failure;
  }
}

/**
 * The streams of a command. All that it prints is made printable, because texts of a gateway, of MCP servers and of users can have
 * sequences that a terminal obeys. Only progress, whose line alone has no end, keeps the carriage return with which it redraws it.
 */
const printing = (io: CliIo): CliIo => ({
  ...io,
  out: text => io.out(printable(text)),
  err: text => io.err(/^\r[^\n]*$/.test(text) ? `\r${printable(text.slice(1))}` : printable(text)),
});

/** Finds the command with the longest name at the beginning of the arguments. */
function commandOf(positionals: readonly string[]): Command | undefined {
  for (const words of [2, 1]) {
    const name = positionals.slice(0, words).join(' ');
    const found = commandTable.find(command => command.name === name);
    if (found !== undefined && positionals.length >= words) return found;
  }
  return undefined;
}

/** An argument without effect is a mistake: `--dry-run` where there is none would change something. @throws UsageError */
function refuseForeign(command: Command, given: readonly string[], count: number): void {
  const { name, parameters = [] } = command;
  const needed = parameters.filter(each => each.startsWith('<'));
  if (count < needed.length) throw new UsageError(`postern ${name} needs ${needed.join(' ')}.`);
  if (count > parameters.length) throw new UsageError(`postern ${name} has no such argument.`);
  const own = new Set<string>(optionsOf(command));
  for (const option of given) if (!own.has(option)) throw new UsageError(`postern ${name} has no option --${option}.`);
}

/** The options of a command, in the order of the help. */
function optionsOf({ options = {}, json, changes }: Command): readonly OptionName[] {
  const own = new Set<string>([
    ...['config', 'help', ...Object.keys(options)],
    ...(json === 'never' ? [] : ['json']),
    ...(changes ? ['dry-run'] : []),
  ]);
  return optionNames.filter(name => own.has(name));
}

const optionNames: readonly OptionName[] = Object.keys(cliOptions) as OptionName[];

const WIDTH = 34;
const line = (left: string, right: string) =>
  left.length < WIDTH - 2 ? `  ${left.padEnd(WIDTH - 2)}${right}` : `  ${left}\n${' '.repeat(WIDTH)}${right}`;
const usageOf = ({ name, parameters = [] }: Command) => ['postern', name, ...parameters].join(' ');

function optionLine(name: OptionName, about?: string): string {
  const option = cliOptions[name];
  const short = 'short' in option ? `-${option.short}, ` : '';
  return line(`${short}--${name}${'value' in option ? ` ${option.value}` : ''}`, about ?? option.about);
}

const EXIT_CODES = `Exit codes: 0 done, 1 refused, failed or something to repair, 2 wrong usage, 130 interrupted. docs/commands.md has them per command.
`;

function helpOf(command: Command): string {
  const words = (name: OptionName) => {
    const own = command.options?.[name as keyof NonNullable<Command['options']>];
    return typeof own === 'string' ? own : undefined;
  };
  return [
    `${usageOf(command)}: ${command.about}`,
    '',
    ...optionsOf(command).map(name => optionLine(name, words(name))),
    '',
    ...(command.failure === undefined ? [] : [`Exits with 1 also if ${command.failure}.`]),
    EXIT_CODES,
  ].join('\n');
}

const HELP = `postern: start and operate the gateway

${line('postern start [file]', 'start the gateway, as does postern alone; default $POSTERN_CONFIG or postern.config.yaml')}
${line('postern dev', 'start a gateway for one MCP server on this machine, without a configuration file')}
${line('postern local', 'start your personal gateway, which MCP servers with @postern/mcp start when they need it')}
${line('postern init', 'ask, or take flags, and write a configuration with new keys')}
${commandTable.map(command => line(usageOf(command), command.about)).join('\n')}

Options of most commands; postern <command> --help shows all options of one
${(['config', 'json', 'dry-run', 'reason', 'by', 'help'] as const).map(name => optionLine(name)).join('\n')}

REDIS_URL overrides redis.url, as it does for the gateway.

Rotate a key in four steps, each on all replicas before the next: add the new key in second place of vault.keys; move it
to the first place; wait for the gateway to re-wrap, or run rewrap; remove the old key once status counts no value under it.

${EXIT_CODES}`;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: cliOptions, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'Cannot parse the arguments.');
  }
}

/** Shows only the name of an unexpected error, because its message may contain secrets. */
function textOf(error: unknown): string {
  if (error instanceof CliError || error instanceof VaultError) return error.message;
  return explanationOf(error) ?? `Unexpected: ${error instanceof Error ? error.name : typeof error}.`;
}
