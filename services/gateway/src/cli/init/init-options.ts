import { parseArgs } from 'node:util';
import { isLoopbackUrl } from '../../platform/config/config-values.ts';
import { CliError, UsageError } from '../cli-io.ts';

export const INIT_HELP = `postern init: write a configuration with new keys

  postern init [options]

  --mode <mode>            how the gateway identifies users:
                             loopback  not at all: everything runs on the machine of one person
                             login     by the identity provider of your company, where the gateway signs them in
                             external  by your own application, which has its own sign-in
                           Default: external with --verify-url, else login with --issuer, else asked, else loopback
  --public-url <url>       URL of the gateway for browsers, such as https://postern.example.com
  --issuer <issuer>        issuer of the users that the MCP server names; with login, the identity provider
  --client-id <id>         login: client id of the gateway at the identity provider. Default: postern
  --client-secret-file <file>
                           login: file with the client secret. Default: the configuration refers to $IDENTITY_PROVIDER_CLIENT_SECRET
  --verify-url <url>       external: page of your application that verifies the user
  --mcp-url <url>          URL of the MCP server
  --mcp-server <id>        its id, which can never change, such as issue-tracker. Default: from the host of its URL
  --name <name>            its name on the pages. Default: the id
  --provider <preset>      a provider that it may use, such as github; repeatable
  --folder <folder>        folder to write to. Default: the working directory
  --force                  replace existing files, and keep each as FILE.bak
  -h, --help

Asks for what is missing if standard input is a terminal. Writes postern.config.yaml, secrets/vault.key and the API key of the MCP
server, readable only by you, or nothing.
`;

const modes = ['loopback', 'login', 'external'] as const;

interface Shared {
  readonly publicUrl: string;
  readonly issuer: string;
  readonly mcpServer: string;
  readonly name: string;
  readonly mcpUrl: string;
  readonly providers: readonly string[];
  readonly folder: string;
  readonly force: boolean;
}

export type InitOptions = Shared &
  (
    | { readonly mode: 'loopback' }
    | { readonly mode: 'login'; readonly clientId: string; readonly clientSecretFile: string | undefined }
    | { readonly mode: 'external'; readonly verifyUrl: string }
  );

/** Asks the operator. Undefined if the input has ended. */
export type Ask = (question: string) => Promise<string | undefined>;

const text = { type: 'string' } as const;
const options = {
  mode: text,
  'public-url': text,
  issuer: text,
  'client-id': text,
  'client-secret-file': text,
  'verify-url': text,
  'mcp-server': text,
  name: text,
  'mcp-url': text,
  provider: { type: 'string', multiple: true, default: [] as string[] },
  folder: { type: 'string', default: '.' },
  force: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Values = ReturnType<typeof parsed>;
type Asked = 'mode' | 'public-url' | 'issuer' | 'client-id' | 'verify-url' | 'mcp-server' | 'mcp-url';

/**
 * Reads the arguments of `postern init`, and asks for what is missing. Undefined for `--help`.
 * @param ask undefined if standard input is not a terminal
 * @throws UsageError naming the first missing argument
 */
export async function readInitOptions(args: readonly string[], ask: Ask | undefined): Promise<InitOptions | undefined> {
  const values = parsed(args);
  if (values.help) return undefined;
  const need = async (name: Asked, question: string, fallback?: string): Promise<string> => {
    const given = values[name];
    if (given !== undefined) return given;
    if (ask === undefined && fallback !== undefined) return fallback;
    if (ask === undefined) throw new UsageError(`--${name} is needed.`);
    const answer = await ask(fallback === undefined ? `${question}: ` : `${question} [${fallback}]: `);
    if (answer === undefined) throw new CliError('Interrupted. Nothing was written.');
    const text = answer.trim() || fallback;
    return text === undefined ? await need(name, question) : text;
  };

  const chosen =
    values.mode ??
    (values['verify-url'] !== undefined ? 'external' : values.issuer !== undefined ? 'login' : undefined) ??
    (await need('mode', `How the gateway identifies users (${modes.join(', ')})`, 'loopback'));
  const mode = modes.find(each => each === chosen);
  if (mode === undefined) throw new UsageError(`--mode needs one of ${modes.join(', ')}.`);
  refuseForeign(values, mode);
  const isLocal = mode === 'loopback';
  const publicUrl = await need('public-url', 'URL of the gateway', isLocal ? 'http://127.0.0.1:8080' : undefined);
  if (URL.parse(publicUrl) === null) throw new UsageError('--public-url needs a URL.');
  const issuer = await need('issuer', 'Issuer of the users', isLocal ? 'http://localhost' : undefined);
  const identity =
    mode === 'login'
      ? {
          mode,
          clientId: await need('client-id', 'Client id of the gateway there', 'postern'),
          clientSecretFile: values['client-secret-file'],
        }
      : mode === 'external'
        ? { mode, verifyUrl: await need('verify-url', 'Page of your application that verifies the user') }
        : { mode };
  const mcpUrl = await need('mcp-url', 'URL of the MCP server', isLocal ? 'http://127.0.0.1:3000/mcp' : undefined);
  if (URL.parse(mcpUrl) === null) throw new UsageError('--mcp-url needs a URL.');
  const mcpServer = await need('mcp-server', 'Id of the MCP server, which can never change', idFor(mcpUrl));
  const { name = mcpServer, provider: providers, folder, force } = values;
  return { ...identity, publicUrl, issuer, mcpServer, name, mcpUrl, providers, folder, force };
}

/** The id that the host of a URL suggests. */
function idFor(url: string): string {
  if (isLoopbackUrl(url)) return 'local';
  const words = new URL(url).hostname.match(/[a-z0-9]+/g) ?? ['mcp'];
  return words.join('-').slice(0, 40).replace(/-$/, '');
}

/** An argument without effect is a mistake. */
function refuseForeign(values: Values, mode: (typeof modes)[number]): void {
  const owners = { 'client-id': 'login', 'client-secret-file': 'login', 'verify-url': 'external' } as const;
  for (const name of ['client-id', 'client-secret-file', 'verify-url'] as const)
    if (values[name] !== undefined && owners[name] !== mode)
      throw new UsageError(`--${name} belongs to --mode ${owners[name]}.`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'Cannot parse the arguments.');
  }
}
