import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { apiKeyHash, newApiKey } from '../../mcp-servers/api-keys.ts';
import { ConfigError } from '../../platform/config/config-error.ts';
import { parseConfig } from '../../platform/config/load-config.ts';
import { interpolate } from '../../platform/config/references.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from '../cli-io.ts';
import { newVaultKey } from '../new-key-commands.ts';
import { claimPrivateFolder, writeAll } from '../private-files.ts';
import { configText, IDENTITY_PROVIDER_SECRET, providerVariables } from './config-text.ts';
import { INIT_HELP, type InitOptions, readInitOptions } from './init-options.ts';

/** `postern init`: writes a configuration and new keys. Writes nothing unless the gateway accepts the configuration. */
export async function init(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const options = await readInitOptions(args, io.ask);
  if (options === undefined) {
    io.out(INIT_HELP);
    return exitCodes.ok;
  }
  const folder = resolve(options.folder);
  const secrets = join(folder, 'secrets');
  const paths = {
    config: join(folder, 'postern.config.yaml'),
    vaultKey: join(secrets, 'vault.key'),
    apiKey: join(secrets, `${options.mcpServer}.api-key`),
  };
  const apiKey = newApiKey();
  const vaultKey = newVaultKey();
  const text = configText({
    options: withAbsolutePaths(options),
    vaultKeyPath: paths.vaultKey,
    kid: `key-${new Date().toISOString().slice(0, 10)}`,
    apiKeyHash: apiKeyHash(apiKey),
  });
  verify(text, options, vaultKey);
  claimPrivateFolder(secrets);
  writeAll(
    [
      { path: paths.vaultKey, text: `${vaultKey}\n` },
      { path: paths.apiKey, text: `${apiKey}\n` },
      { path: paths.config, text },
    ],
    { force: options.force },
  );
  io.out(explanation(options, paths));
  return exitCodes.ok;
}

/** The gateway may start in another folder. */
function withAbsolutePaths(options: InitOptions): InitOptions {
  if (options.mode !== 'login' || options.clientSecretFile === undefined) return options;
  return { ...options, clientSecretFile: resolve(options.clientSecretFile) };
}

/** @throws CliError naming each fault of the configuration by its path */
function verify(text: string, options: InitOptions, vaultKey: string): void {
  // Stand-ins for secrets that the operator has not set yet.
  const env = Object.fromEntries(
    [IDENTITY_PROVIDER_SECRET, ...options.providers.flatMap(each => Object.values(providerVariables(each)))].map(
      name => [name, 'set-later'],
    ),
  );
  const document: unknown = parse(text.replace(/\$\{file:[^}]*vault\.key\}/, vaultKey));
  try {
    parseConfig(interpolate(document, env));
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(`${error.message}\nNothing was written.`);
    throw error;
  }
}

const REDIS = [
  'The gateway needs Redis 7.0 or newer with appendonly, at redis://localhost:6379 or at REDIS_URL. On this machine, for example:',
  '  docker run -d -p 127.0.0.1:6379:6379 redis:7 --appendonly yes',
];

function explanation(options: InitOptions, paths: { config: string; vaultKey: string; apiKey: string }): string {
  const variables = [
    ...(options.mode === 'login' && options.clientSecretFile === undefined ? [IDENTITY_PROVIDER_SECRET] : []),
    ...options.providers.flatMap(each => Object.values(providerVariables(each))),
  ];
  const needsRedis = options.mode !== 'loopback';
  return [
    `Wrote ${paths.config}`,
    `      ${paths.vaultKey}  (store a copy away from ${needsRedis ? 'Redis' : 'the store'} and its backups)`,
    `      ${paths.apiKey}  (the API key of the MCP server)`,
    '',
    `Identity mode: ${options.mode}. Id of the MCP server: ${options.mcpServer}, a part of redirect URIs and stored connections. Never change it later.`,
    `Set POSTERN_URL=${options.publicUrl} and POSTERN_API_KEY, the API key, in the environment of the MCP server.`,
    ...(variables.length > 0 ? [`Set ${variables.join(', ')} in the environment of the gateway.`] : []),
    ...(needsRedis ? ['The comments in the file name the redirect URIs to register.', ...REDIS] : []),
    `Check it: npx @postern/gateway check ${paths.config}`,
    `Start it: npx @postern/gateway start ${paths.config}`,
    '',
  ].join('\n');
}
