import { readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { ConfigError } from './config-error.ts';
import { configSchema, type GatewayConfig } from './config-schema.ts';
import { crossFaults } from './cross-faults.ts';
import { interpolate } from './interpolate.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Checks a configuration document. @throws ConfigError naming every fault by its path. */
export function parseConfig(document: unknown): GatewayConfig {
  const parsed = configSchema.safeParse(document);
  if (!parsed.success) {
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
  const config = parseConfig(interpolate(document, env));
  const redisUrl = env['REDIS_URL'];
  return redisUrl === undefined || redisUrl === '' ? config : { ...config, redis: { ...config.redis, url: redisUrl } };
}
