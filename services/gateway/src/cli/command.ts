import { userInfo } from 'node:os';
import type { Actor, ReasonedActor } from '../admin/admin-audit.ts';
import { type CliIo, type ExitCode, UsageError } from './cli-io.ts';

/** Every option of every command, as `parseArgs` reads it, with the words of the help. */
export const cliOptions = {
  config: {
    type: 'string',
    short: 'c',
    value: '<file>',
    about: 'configuration of the gateway; default $POSTERN_CONFIG or postern.config.yaml',
  },
  json: { type: 'boolean', about: 'print one JSON document instead of text' },
  'dry-run': { type: 'boolean', about: 'say what the command would do, and change nothing' },
  reason: { type: 'string', value: '<text>', about: 'why, for the audit trail' },
  by: { type: 'string', value: '<name>', about: 'who; default the name of the user of the system' },
  format: { type: 'string', value: '<name>', about: 'jsonl, as logged (default), or ocsf: events of OCSF 1.8.0' },
  follow: { type: 'boolean', short: 'f', about: 'keep printing new events' },
  issuer: { type: 'string', value: '<url>', about: 'only events of this user, with --subject' },
  subject: { type: 'string', value: '<text>', about: 'only events of this user, with --issuer' },
  'mcp-server': { type: 'string', value: '<id>', about: 'only of this MCP server' },
  event: { type: 'string', value: '<name>', about: 'only this event, or with admin those that begin with admin.' },
  elicitation: { type: 'string', value: '<id>', about: 'only of this elicitation' },
  'api-key': { type: 'string', value: '<id>', about: 'only of this API key; api-keys list has the id' },
  since: { type: 'string', value: '<time>', about: 'only from then on, such as 2026-11-23 or 2026-11-23T09:00:00Z' },
  url: { type: 'string', value: '<url>', about: 'URL of the MCP server; users see its host' },
  name: { type: 'string', value: '<text>', about: 'name of the MCP server on the pages; default its id' },
  providers: { type: 'string', value: '<names>', about: 'providers that it may use, separated by commas' },
  'key-file': { type: 'string', value: '<file>', about: 'the API key itself; - reads standard input' },
  'token-file': {
    type: 'string',
    value: '<file>',
    about: 'show which user an access token stands for; - reads standard input',
  },
  kid: {
    type: 'string',
    value: '<name>',
    about: 'name of the key; default key- and the date, for receipts its thumbprint',
  },
  out: {
    type: 'string',
    value: '<path>',
    about: 'new file, for pages a new folder; - is standard output where the help says so',
  },
  all: { type: 'boolean', about: 'all of them' },
  'minor-units': {
    type: 'string',
    value: '<n>',
    about: 'amount in the smallest unit of the currency; default everything that is left',
  },
  payment: { type: 'string', value: '<reference>', about: 'the payment, by the reference of its processor' },
  endpoint: { type: 'string', value: '<name>', about: 'only of this webhook endpoint' },
  yes: { type: 'boolean', about: 'apply' },
  deployment: {
    type: 'string',
    value: '<id>',
    about: 'id of the deployment, if neither redis.deployment nor Redis has it',
  },
  help: { type: 'boolean', short: 'h', about: 'show this help' },
} as const;

export type OptionName = keyof typeof cliOptions;
type Values = {
  readonly [Name in OptionName]?: ((typeof cliOptions)[Name]['type'] extends 'boolean' ? boolean : string) | undefined;
};

/** One call of a command, with the options that the command has. */
export interface Invocation {
  readonly configPath: string;
  readonly json: boolean;
  readonly dryRun: boolean;
  /** As many as the command has. */
  readonly args: readonly string[];
  readonly values: Values;
}

/** A command of operators. The help, docs/commands.md and the tests follow from it. */
export interface Command {
  /** Words after `postern`. */
  readonly name: string;
  /** `<needed>` first, then `[optional]` ones. */
  readonly parameters?: readonly string[];
  readonly about: string;
  /** Besides --config, --json, --dry-run and --help, with words of their own where those of `cliOptions` do not suffice. */
  readonly options?: Partial<
    Readonly<Record<Exclude<OptionName, 'config' | 'json' | 'dry-run' | 'help'>, string | true>>
  >;
  /** `document`: with `--json`. `always`: whether or not `--json` is there. `lines`: always, one object per line. */
  readonly json: 'document' | 'always' | 'lines' | 'never';
  /** Whether it changes what a deployment stores, so that it has `--dry-run`. */
  readonly changes: boolean;
  /** Whether it needs no store. Other commands run in the gateway that holds the store, if one runs. */
  readonly isLocal?: true;
  /** When it exits with 1, besides a failure. */
  readonly failure?: string;
  /** Whether Ctrl-C ends it with 130, and repeating it continues. */
  readonly canBeInterrupted?: true;
  readonly run: (p: Invocation, io: CliIo) => Promise<ExitCode>;
}

/** Who changed something, as claimed, and why: both are in the audit event. */
export interface Change {
  readonly by: string;
  readonly reason: string;
}

interface Options {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** One line without control characters. */
const TEXT = /^[^\p{C}\u2028\u2029]{1,200}$/u;

/** Reads `--by`, by default the user of this machine, and `--reason` if it was given. @throws UsageError */
function whoAndWhyOf({ by = userInfo().username, reason }: Options): Pick<Change, 'by'> & Partial<Change> {
  const given = { by, reason };
  for (const [option, value] of Object.entries(given))
    if (value !== undefined && !TEXT.test(value))
      throw new UsageError(`--${option} must have 1 to 200 characters on one line.`);
  return given;
}

/**
 * Reads `--by` and `--reason`. @throws UsageError
 * @internal exported for tests
 */
export function changeOf(p: Options): Change {
  const { by, reason } = whoAndWhyOf(p);
  if (reason === undefined) throw new UsageError('--reason is required: say why, for the audit trail.');
  return { by, reason };
}

/** The operator of a command: as named, or the user of this machine. @throws UsageError */
export function actorOf(p: { readonly by?: string | undefined; readonly reason?: string | undefined }): Actor {
  const { by: who, reason } = whoAndWhyOf(p);
  return { who, door: 'command_line', reason };
}

/** Options of every command that changes something on behalf of an operator. */
export const whoAndWhy = { by: true, reason: 'why, for the audit trail; required' } as const;

/** Who and why, where both are required. @throws UsageError */
export const changeIn = ({ values }: Invocation): Change => changeOf(values);
/** @throws UsageError */
export function changingActor(p: Invocation): ReasonedActor {
  const change = changeIn(p);
  return { ...actorOf(change), reason: change.reason };
}

/** Reads `--since`. @throws UsageError */
export function sinceIn({ values: { since } }: Invocation): Date | undefined {
  if (since === undefined) return undefined;
  const time = new Date(since);
  if (Number.isNaN(time.getTime()) || !/^\d{4}-\d\d-\d\d/.test(since))
    throw new UsageError('--since must be a time such as 2026-11-23 or 2026-11-23T09:00:00Z.');
  return time;
}

/** Issuer and subject as the first two arguments. */
export const subjectIn = ({ args: [issuer = '', subject = ''] }: Invocation) => ({ issuer, subject });
