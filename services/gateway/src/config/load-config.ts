import { readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { ConfigError } from './config-error.ts';
import { configSchema, type GatewayConfig } from './config-schema.ts';
import { crossFaults } from './cross-faults.ts';
import { interpolate } from './interpolate.ts';
import { withNumbers } from './referenced-numbers.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks a configuration document.
 * @param asWritten the document before its references were replaced: where one leads to digits and a number is wanted, it is one
 * @throws ConfigError naming every fault by its path.
 */
export function parseConfig(document: unknown, asWritten?: unknown): GatewayConfig {
  const parsed = configSchema.safeParse(document);
  if (!parsed.success) {
    const numbered = withNumbers(document, asWritten, parsed.error.issues);
    if (numbered !== undefined) return parseConfig(numbered, asWritten);
    throw new ConfigError(
      parsed.error.issues.map(issue => ({
        path: issue.path
          .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${String(part)}`))
          .join(''),
        message: issue.message,
      })),
    );
  }
  const faults = crossFaults(parsed.data);
  if (faults.length > 0) throw new ConfigError(faults);
  return parsed.data;
}

/** Reads the file, fills in what it refers to and checks it. `REDIS_URL` overrides `redis.url`. @throws ConfigError */
export function loadConfig(path: string, env: Environment): GatewayConfig {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new ConfigError([{ path: '', message: `${path} cannot be read` }]);
  }
  let document: unknown;
  try {
    document = parse(text, { uniqueKeys: true, merge: false });
  } catch (error) {
    if (error instanceof YAMLParseError)
      throw new ConfigError([{ path: '', message: `not YAML at line ${error.linePos?.[0].line ?? '?'}` }]);
    throw error;
  }
  return parseConfig(withRedisUrl(interpolate(document, env), env['REDIS_URL']), document);
}

/** Put in before the check, so that a bad address or a second one is named like any other fault. */
function withRedisUrl(document: unknown, url: string | undefined): unknown {
  if (url === undefined || url === '' || !isObject(document)) return document;
  const { redis = {} } = document;
  return isObject(redis) ? { ...document, redis: { ...redis, url } } : document;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
