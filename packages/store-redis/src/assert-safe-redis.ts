import { StoreUnavailableError } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { faultOf } from './redis-fault.ts';

export type UnsafeSetting = 'appendonly' | 'maxmemory-policy' | 'redis_version' | 'config';

/** Redis would lose or drop what was promised to be kept. The message names the setting and what to do about it. */
export class UnsafeRedisError extends Error {
  override name = 'UnsafeRedisError';
  readonly setting: UnsafeSetting;

  constructor(setting: UnsafeSetting, message: string) {
    super(message);
    this.setting = setting;
  }
}

export interface SafetyOptions {
  /** The operator vouches for durability and against eviction where Redis does not let itself be asked (CONFIG forbidden). */
  readonly assumeDurable?: boolean;
}

const OLDEST_MAJOR = 7;

/**
 * Asks every master whether it keeps what it acknowledges: append-only file on, nothing evicted, version known to work.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function assertSafeRedis(redis: Redis | Cluster, options: SafetyOptions = {}): Promise<void> {
  await Promise.all(mastersOf(redis).map(node => assertSafeNode(node, options)));
}

export function mastersOf(redis: Redis | Cluster): readonly Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

async function assertSafeNode(node: Redis, options: SafetyOptions): Promise<void> {
  const version = /^redis_version:(\S+)/m.exec(String(await ask(node, 'info', 'server')))?.[1];
  if (Number.parseInt(version ?? '', 10) >= OLDEST_MAJOR === false) {
    throw new UnsafeRedisError(
      'redis_version',
      `Redis ${OLDEST_MAJOR}.0 or newer is required${version === undefined ? '' : `, this is ${version}`}. Upgrade Redis.`,
    );
  }
  await assertKeepsData(node, options);
}

/** The part that can change while Redis runs, so it is asked again with every health check. */
export async function assertKeepsData(node: Redis, options: SafetyOptions): Promise<void> {
  const [appendonly, policy] = await Promise.all([setting(node, 'appendonly'), setting(node, 'maxmemory-policy')]);
  if (appendonly === undefined || policy === undefined) {
    if (options.assumeDurable === true) return;
    throw new UnsafeRedisError(
      'config',
      'Redis does not let CONFIG GET be used, so it is unknown whether it keeps its data. Allow "CONFIG GET" for this ' +
        'user, or set assumeDurable when you know that it persists every write and evicts nothing.',
    );
  }
  if (appendonly !== 'yes') {
    throw new UnsafeRedisError(
      'appendonly',
      'Redis runs without an append-only file and would forget everything when it is killed. Set "appendonly yes".',
    );
  }
  if (policy !== 'noeviction') {
    throw new UnsafeRedisError(
      'maxmemory-policy',
      `Redis may evict live records (maxmemory-policy ${policy}). Set "maxmemory-policy noeviction".`,
    );
  }
}

/** Undefined where CONFIG is forbidden or unknown, as with many managed offers. */
async function setting(node: Redis, name: string): Promise<string | undefined> {
  try {
    const reply = await node.config('GET', name);
    return Array.isArray(reply) ? String(reply[1]) : undefined;
  } catch (error) {
    const fault = faultOf(error);
    if (fault.code === 'NOPERM' || fault.kind === 'misuse') return undefined;
    throw new StoreUnavailableError({ cause: fault });
  }
}

async function ask(node: Redis, command: string, argument: string): Promise<unknown> {
  try {
    return await node.call(command, argument);
  } catch (error) {
    throw new StoreUnavailableError({ cause: faultOf(error) });
  }
}
