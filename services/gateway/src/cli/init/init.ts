import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { apiKeyHash, newApiKey } from '../../mcp-servers/api-keys.ts';
import { ConfigError } from '../../platform/config/config-error.ts';
import { parseConfig } from '../../platform/config/load-config.ts';
import { interpolate } from '../../platform/config/references.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, printable } from '../cli-io.ts';
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
  io.out(printable(explanation(options, paths)));
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

function explanation(options: InitOptions, paths: { config: string; vaultKey: string; apiKey: string }): string {
  const variables = [
    ...(options.mode === 'login' && options.clientSecretFile === undefined ? [IDENTITY_PROVIDER_SECRET] : []),
    ...options.providers.flatMap(each => Object.values(providerVariables(each))),
  ];
  return [
    `Wrote ${paths.config}`,
    `      ${paths.vaultKey}  (store a copy away from Redis and its backups)`,
    `      ${paths.apiKey}  (give it to the MCP server as POSTERN_API_KEY)`,
    '',
    ...(variables.length > 0 ? [`Set ${variables.join(', ')} in the environment of the gateway.`] : []),
    ...(options.mode === 'loopback' ? [] : ['The comments in the file name the redirect URIs to register.']),
    `Start it: npx @postern/gateway start ${paths.config}`,
    '',
  ].join('\n');
}
