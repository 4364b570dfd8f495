import { parseArgs } from 'node:util';
import { PERSON } from '@postern/api/local';
import { CliError, UsageError } from '../cli-io.ts';

export const DEV_HELP = `postern dev: a gateway for one MCP server on this machine, without a configuration file

  postern dev [options]

  --port <port>            port of the gateway; the example provider and the console take the next two. Default 4480, later the port of the last start
  --provider <preset>[=<client id>]
                           a provider besides "example", such as github; repeatable. Without the client id: $GITHUB_CLIENT_ID.
                           Its client secret is in $GITHUB_CLIENT_SECRET, or in the file that $GITHUB_CLIENT_SECRET_FILE names
  --issuer <issuer>        issuer of the users that your MCP server names, besides http://localhost; repeatable
  --name <name>            name of your MCP server on the pages. Default "My MCP server"
  --limit <setting>=<n>    a limit of your MCP server, such as elicitationsPerSubject=3, to see what happens at it; repeatable
  --folder <folder>        folder for keys and data. Default .postern
  -h, --help

Everything stays in the folder, which only you can open. Delete it to start afresh.
`;

/** First line of a configuration that no other command may edit: the next start replaces it. */
export const WRITTEN_BY_DEV = '# Written at each start of postern dev.';

/** Where the only user is the developer: payments end with an approval, and the MCP server charges. */
export const approvedPayments = {
  processors: ['none'],
  maxAmount: { EUR: 100_000, GBP: 100_000, USD: 100_000 },
};

export interface DevOptions {
  /** Undefined: as at the last start. */
  readonly port: number | undefined;
  readonly name: string;
  readonly folder: string;
  readonly issuers: readonly string[];
  readonly providers: readonly DevProvider[];
  /** By name of the setting. The configuration refuses unknown ones. */
  readonly limits: Readonly<Record<string, number>>;
}

/** An entry of `providers` in the configuration. Its secret is a reference. */
interface DevProvider {
  readonly name: string;
  readonly preset: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const options = {
  port: { type: 'string' },
  provider: { type: 'string', multiple: true, default: [] as string[] },
  issuer: { type: 'string', multiple: true, default: [] as string[] },
  name: { type: 'string', default: 'My MCP server' },
  limit: { type: 'string', multiple: true, default: [] as string[] },
  folder: { type: 'string', default: '.postern' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * Reads the arguments of `postern dev`. Undefined for `--help`.
 * @throws CliError, UsageError
 */
export function readDevOptions(args: readonly string[], env: Environment): DevOptions | undefined {
  const { values } = parsed(args);
  if (values.help) return undefined;
  const port = values.port === undefined ? undefined : Number(values.port);
  // The example provider and the console take the ports after it.
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port < 65_534))
    throw new UsageError('--port needs a number from 1 to 65533.');
  return {
    port,
    name: values.name,
    folder: values.folder,
    issuers: [PERSON.issuer, ...values.issuer],
    providers: values.provider.map(each => providerOf(each, env)),
    limits: Object.fromEntries(values.limit.map(limitOf)),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'Cannot parse the arguments.');
  }
}

function limitOf(text: string): readonly [setting: string, value: number] {
  const [, setting, value] = /^(\w+)=(\d+)$/.exec(text) ?? [];
  if (setting === undefined) throw new UsageError(`--limit ${text}: write <setting>=<number>.`);
  return [setting, Number(value)];
}

function providerOf(text: string, env: Environment): DevProvider {
  const [preset = '', ...rest] = text.split('=');
  if (!/^[a-z0-9-]{1,40}$/.test(preset)) throw new UsageError(`--provider ${preset}: not the name of a preset.`);
  const prefix = preset.toUpperCase().replaceAll('-', '_');
  const clientId = rest.length > 0 ? rest.join('=') : env[`${prefix}_CLIENT_ID`];
  if (!clientId) throw new CliError(`--provider ${preset}: set ${prefix}_CLIENT_ID, or write ${preset}=<client id>.`);
  const file = env[`${prefix}_CLIENT_SECRET_FILE`];
  if (!file && !env[`${prefix}_CLIENT_SECRET`])
    throw new CliError(`--provider ${preset}: set ${prefix}_CLIENT_SECRET or ${prefix}_CLIENT_SECRET_FILE.`);
  const clientSecret = file ? `\${file:${file}}` : `\${env:${prefix}_CLIENT_SECRET}`;
  return { name: preset, preset, clientId, clientSecret };
}
