import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const redisAddress = z.object({
  redis: z.object({ url: z.unknown(), cluster: z.unknown(), sentinel: z.unknown() }).partial().optional(),
});

/**
 * Whether the gateway will start a private Redis with this configuration, and so needs redis-server on this machine.
 * False for an unreadable configuration: the gateway reports the error.
 */
export function needsOwnRedis(configPath: string, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['REDIS_URL']) return false;
  try {
    const { redis } = redisAddress.parse(parse(readFileSync(configPath, 'utf8')));
    return redis?.url === undefined && redis?.cluster === undefined && redis?.sentinel === undefined;
  } catch {
    return false;
  }
}
