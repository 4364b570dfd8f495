import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { MCP_SERVER_FILE, mcpServerFileSchema } from '@postern/api/local';
import type { z } from 'zod';
import { apiKeyHash, newApiKey } from '../../mcp-servers/api-keys.ts';
import type { GatewayConfigInput } from '../../platform/config/config-schema.ts';
import { explanationOf } from '../../platform/start-error.ts';
import { CliError, type ExitCode, exitCodes, jsonOf, UsageError } from '../cli-io.ts';
import { newVaultKey } from '../new-key-commands.ts';
import { claimPrivateFolder, readOrCreate, replace } from '../private-files.ts';
import { approvedPayments, DEV_HELP, type DevOptions, readDevOptions, WRITTEN_BY_DEV } from './dev-options.ts';
import { type ExampleProvider, example, startExampleProvider } from './example-provider.ts';
import { createOperatorSignIn, operatorSignIn } from './operator-sign-in.ts';

const DEFAULT_PORT = 4480;

/** The MCP server of a development gateway. It is a part of redirect URIs. */
const MCP_SERVER_ID = 'dev';

/** Its contents never change, except for the port. */
type McpServerFile = z.infer<typeof mcpServerFileSchema>;

/** A development gateway that is ready to start. */
export interface PreparedGateway {
  readonly configPath: string;
  /** Explains what to do next, without any secret. */
  readonly screen: string;
}

/** Why there is nothing to start. */
interface NothingToStart {
  readonly exitCode: ExitCode;
  readonly text: string;
}

/** Prepares the process of `postern dev`, which logs only errors. @returns undefined if there is nothing to run */
export async function devProcess(args: readonly string[]) {
  const prepared = await prepareDev(args, process.env);
  if ('exitCode' in prepared) {
    (prepared.exitCode === 0 ? process.stdout : process.stderr).write(prepared.text);
    process.exitCode = prepared.exitCode;
    return undefined;
  }
  return {
    configPath: prepared.configPath,
    logLevel: process.env['LOG_LEVEL'] ?? 'error',
    onStarted: () => void process.stdout.write(prepared.screen),
  };
}

/** `postern dev`: prepares the folder with keys and configuration, and starts the example provider. */
export async function prepareDev(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<PreparedGateway | NothingToStart> {
  try {
    const options = readDevOptions(args, env);
    return options === undefined ? { exitCode: exitCodes.ok, text: DEV_HELP } : await prepare(options);
  } catch (error) {
    if (error instanceof UsageError)
      return { exitCode: exitCodes.usage, text: `${error.message}\nTry: postern dev --help\n` };
    const explanation = error instanceof CliError ? error.message : explanationOf(error);
    if (explanation === undefined) throw error;
    return { exitCode: exitCodes.failure, text: `${explanation}\n` };
  }
}

async function prepare(options: DevOptions): Promise<PreparedGateway> {
  const folder = resolve(options.folder);
  const file = join(folder, MCP_SERVER_FILE);
  if (existsSync(folder)) claimPrivateFolder(folder);
  // A start that fails leaves no folder behind.
  await assertFree(
    options.port ?? (existsSync(file) ? portOf(parsed(file, readFileSync(file, 'utf8'))) : DEFAULT_PORT),
  );
  claimPrivateFolder(folder);
  readOrCreate(join(folder, '.gitignore'), () => '*\n');
  const vaultKey = readOrCreate(join(folder, 'vault.key'), () => `${newVaultKey()}\n`);
  const { url, apiKey } = mcpServerFile(file, options.port);
  const port = portOf({ url });
  // Cookies ignore ports, so the console needs another host name than the pages.
  const consoleUrl = `http://localhost:${port + 2}`;
  const provider = await startExampleProvider({
    port: port + 1,
    vaultKey,
    operators: await createOperatorSignIn({
      issuer: `http://127.0.0.1:${port + 1}${operatorSignIn.path}`,
      redirectUri: `${consoleUrl}/login/callback/console`,
    }),
    redirectUri: `${url}/callback/${MCP_SERVER_ID}/${example.name}`,
  });
  const configPath = join(folder, 'postern.config.yaml');
  const document = configOf({ options, folder, url, consoleUrl, port, provider, hash: apiKeyHash(apiKey) });
  // JSON is YAML.
  replace({
    path: configPath,
    text: `${WRITTEN_BY_DEV}\n${JSON.stringify(document, null, 2)}\n`,
  });
  return { configPath, screen: screenOf({ options, folder, url, consoleUrl, provider }) };
}

/** @throws CliError if the file has been changed */
function mcpServerFile(path: string, port: number | undefined): McpServerFile {
  const urlAt = (at: number) => `http://127.0.0.1:${at}`;
  const textOf = (url: string, apiKey: string) => `${JSON.stringify({ url, apiKey })}\n`;
  const data = parsed(
    path,
    readOrCreate(path, () => textOf(urlAt(port ?? DEFAULT_PORT), newApiKey())),
  );
  if (port === undefined || data.url === urlAt(port)) return data;
  replace({ path, text: textOf(urlAt(port), data.apiKey) });
  return { ...data, url: urlAt(port) };
}

const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port);

/** @throws CliError if the file has been changed */
function parsed(path: string, text: string): McpServerFile {
  const { data } = mcpServerFileSchema.safeParse(jsonOf(text));
  if (data === undefined || !/^http:\/\/127\.0\.0\.1:\d+$/.test(data.url))
    throw new CliError(`${path} is damaged. Delete it: the next start writes a new one.`);
  return data;
}

/** @throws CliError if one of the three ports is in use */
async function assertFree(first: number): Promise<void> {
  for (const port of [first, first + 1, first + 2]) {
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unexpected';
      throw new CliError(
        `Cannot listen on port ${port} of 127.0.0.1 (${code}). Does postern dev run already? Choose the first of three ports with --port.`,
      );
    }
    probe.close();
    await once(probe, 'close');
  }
}

interface Prepared {
  readonly options: DevOptions;
  readonly folder: string;
  readonly url: string;
  readonly consoleUrl: string;
  readonly provider: ExampleProvider;
}

function configOf(p: Prepared & { readonly port: number; readonly hash: string }): GatewayConfigInput {
  const { options, folder, url, consoleUrl, provider } = p;
  return {
    publicUrl: url,
    listen: { host: '127.0.0.1', port: p.port },
    store: { file: join(folder, 'postern.sqlite') },
    console: {
      publicUrl: consoleUrl,
      listen: { port: p.port + 2 },
      identityProvider: {
        issuer: `${provider.url}${operatorSignIn.path}`,
        clientId: operatorSignIn.clientId,
        clientAuthentication: 'none',
      },
      roles: { claim: 'groups', operator: [operatorSignIn.subject] },
    },
    vault: { keys: [{ kid: 'dev', key: `\${file:${join(folder, 'vault.key')}}` }] },
    providers: [
      {
        name: example.name,
        displayName: example.displayName,
        clientId: example.clientId,
        clientAuthentication: 'none',
        authorizationEndpoint: `${provider.url}/authorize`,
        tokenEndpoint: `${provider.url}/token`,
        scopes: { [example.scope]: { text: 'read your notes', access: 'see' } },
        defaultScopes: [example.scope],
        apiHosts: [new URL(provider.url).host],
      },
      ...options.providers,
    ] as NonNullable<GatewayConfigInput['providers']>,
    mcpServers: [
      {
        id: MCP_SERVER_ID,
        name: options.name,
        url: 'http://127.0.0.1:3000/mcp',
        apiKeys: [{ hash: p.hash }],
        issuers: [...options.issuers],
        identity: { mode: 'loopback' },
        providers: [example.name, ...options.providers.map(({ name }) => name)],
        payment: approvedPayments,
        limits: options.limits,
      },
    ],
  };
}

function screenOf({ options, folder, url, consoleUrl, provider }: Prepared): string {
  return [
    '',
    `Postern listens at ${url}, for this machine only. Ctrl-C stops it. Keys and data: ${folder}`,
    '',
    `Console, to see what happens: ${consoleUrl}`,
    `Requests that are left open, to decline them: ${url}/me`,
    '',
    'In your MCP server, in this folder or below:',
    '',
    '  const gate = postern();',
    '',
    `  The provider "${example.name}" (${example.displayName}) has an API at ${provider.url}/notes.`,
    ...options.providers.map(
      ({ name }) => `  Redirect URI to register at ${name}: ${url}/callback/${MCP_SERVER_ID}/${name}`,
    ),
    '',
    '',
  ].join('\n');
}
