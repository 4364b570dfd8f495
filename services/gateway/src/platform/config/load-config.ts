import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { issuersOf } from '@postern/authorization';
import { parse, YAMLParseError } from 'yaml';
import { ConfigError } from './config-error.ts';
import { configSchema, type GatewayConfig, type ParsedConfig } from './config-schema.ts';
import { crossFaults } from './cross-faults.ts';
import { readImages } from './images.ts';
import { interpolate, withNumbers } from './references.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Validates a configuration document, and reads the images that it names.
 * @param asWritten the document before interpolation: a reference that resolves to digits counts as a number where one is expected
 * @param onFile called with the path of each image
 * @param folder in which a relative `store.file` is
 * @throws ConfigError naming every error by its path
 */
export function parseConfig(
  document: unknown,
  asWritten?: unknown,
  onFile: (path: string) => void = () => {},
  folder = '',
): GatewayConfig {
  const parsed = configSchema.safeParse(document);
  if (!parsed.success) {
    const numbered = withNumbers(document, asWritten, parsed.error.issues);
    if (numbered !== undefined) return parseConfig(numbered, asWritten, onFile, folder);
    throw new ConfigError(
      parsed.error.issues.map(issue => ({
        path: issue.path
          .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${String(part)}`))
          .join(''),
        message: issue.message,
      })),
    );
  }
  const config = withIssuers(parsed.data);
  const { images, faults } = readImages(config, onFile);
  const allFaults = [...crossFaults(config), ...faults];
  if (allFaults.length > 0) throw new ConfigError(allFaults);
  return { ...config, store: { file: resolve(folder, config.store.file) }, images };
}

/** Names the users of MCP servers that name none. Never guesses: with a second identity provider or tenant, the operator has to choose. */
function withIssuers(config: ParsedConfig): ParsedConfig {
  const [issuer, ...others] = config.identityProviders.flatMap(issuersOf);
  if (issuer === undefined || others.length > 0) return config;
  const mcpServers = config.mcpServers.map(server =>
    server.issuers.length === 0 && server.identity.mode === 'login' ? { ...server, issuers: [issuer] } : server,
  );
  return { ...config, mcpServers };
}

/**
 * Reads the file, resolves its references and validates it. `REDIS_URL` overrides `redis.url`.
 * @param onFile called with the path of each file that the configuration consists of, even if it cannot be read
 * @throws ConfigError
 */
export function loadConfig(path: string, env: Environment, onFile: (path: string) => void = () => {}): GatewayConfig {
  onFile(path);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new ConfigError([{ path: '', message: `${path} cannot be read` }]);
  }
  return configOfText(text, env, onFile, dirname(path));
}

/** As `loadConfig`, of a text that is in no file yet. @throws ConfigError */
export function configOfText(
  text: string,
  env: Environment,
  onFile: (path: string) => void = () => {},
  folder = '',
): GatewayConfig {
  const document = parsedYaml(text);
  return parseConfig(withRedisUrl(interpolate(document, env, onFile), env['REDIS_URL']), document, onFile, folder);
}

/** @throws ConfigError */
export function parsedYaml(text: string): unknown {
  try {
    return parse(text, { uniqueKeys: true, merge: false });
  } catch (error) {
    if (error instanceof YAMLParseError)
      throw new ConfigError([{ path: '', message: `is not valid YAML at line ${error.linePos?.[0].line ?? '?'}` }]);
    throw error;
  }
}

/** For a command that needs a part of the file, whose secrets may be out of reach. Undefined for a file that cannot be read. */
export function documentAt(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Applied before validation, so that an invalid or second address is reported like any other error. */
function withRedisUrl(document: unknown, url: string | undefined): unknown {
  if (url === undefined || url === '' || !isObject(document)) return document;
  const { redis = {} } = document;
  return isObject(redis) ? { ...document, redis: { ...redis, url } } : document;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
