import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inspectRedis, type RedisInspection } from '@postern/store-redis';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { hasOwnRedis, redisTarget } from '../../platform/redis/redis-target.ts';
import { explanationOf } from '../../platform/start-error.ts';
import { type Finding, failed, ok, warning } from './findings.ts';

/** Timeout of the connection and of each command, in milliseconds. */
const REDIS_MS = 8_000;
/** Without these commands the gateway starts, but cannot check one setting. */
const OPTIONAL: ReadonlySet<string> = new Set(['acl|dryrun', 'config|get']);
/** As in the alert of docs/alerts.md. */
const FULL = 0.8;

/** @param onClock called with the milliseconds by which Redis is ahead */
export async function checkRedis(
  { redis }: GatewayConfig,
  onClock: (leadMs: number) => void,
): Promise<readonly Finding[]> {
  if (hasOwnRedis(redis)) return [await checkOwnRedis(redis.directory)];
  let found: RedisInspection;
  try {
    found = await inspectRedis({ ...redisTarget(redis).stores, timeoutMs: REDIS_MS });
  } catch (error) {
    const explanation = explanationOf(error);
    if (explanation === undefined) throw error;
    return [failed('redis.connection', explanation)];
  }
  onClock(found.clockLeadMs);
  return [
    ok('redis.connection', `Redis ${found.version ?? 'of an unknown version'} accepts the configured user.`),
    ...settingsOf(found, redis.assumeDurable),
    found.refusals.length === 0
      ? ok('redis.writes', 'Redis accepts writes; the probe is removed.')
      : failed('redis.writes', refusedWrites(found.refusals)),
    memoryOf(found),
    ...permissionsOf(found),
  ];
}

/** The gateway starts its own Redis with the right settings, so there is nothing else to look at before. */
async function checkOwnRedis(directory: string): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('redis-server', ['--version'], { timeout: REDIS_MS });
    const version = /v=([\w.]+)/.exec(stdout)?.[1] ?? 'of an unknown version';
    return ok('redis.own', `The gateway starts redis-server ${version} in ${directory}.`);
  } catch {
    return failed('redis.own', 'redis-server is not installed. Install it, or set redis.url or REDIS_URL.');
  }
}

function settingsOf({ unsafe, warnings, appendfsync }: RedisInspection, isAssumed: boolean): readonly Finding[] {
  if (unsafe !== undefined) return [failed('redis.settings', unsafe.message)];
  const about: Readonly<Record<string, string>> = {
    'default-user': 'It is unknown whether the user "default" may replay the append-only file. Allow "ACL DRYRUN".',
    appendfsync: 'A master that restarts before a fail-over may lose writes. Set "appendfsync always".',
    'min-replicas-to-write': 'A master without replicas accepts writes. Set "min-replicas-to-write 1".',
    maxmemory: 'Redis has no memory limit and grows until its process is killed. Set "maxmemory".',
  };
  const warned = warnings.map(setting => warning('redis.settings', about[setting] ?? `Check the setting ${setting}.`));
  if (warned.length > 0) return warned;
  if (appendfsync === undefined)
    return [
      warning('redis.settings', `Redis hides its settings${isAssumed ? ', and assumeDurable vouches for them' : ''}.`),
    ];
  return [ok('redis.settings', `Append-only file on (appendfsync ${appendfsync}), no eviction.`)];
}

function refusedWrites(codes: readonly string[]): string {
  const hints: Readonly<Record<string, string>> = {
    OOM: 'Redis is full: raise maxmemory.',
    READONLY: 'This is a read-only replica: configure the address of the master, or of the Sentinels.',
    MISCONF: 'Redis cannot write to its disk: its log says why.',
    NOPERM: 'The user may not write: use the rules of infra/redis/users.acl.',
  };
  return `Redis refuses writes (${codes.join(', ')}). ${codes.map(code => hints[code] ?? '').join(' ')}`.trim();
}

function memoryOf({ memoryUsed }: RedisInspection): Finding {
  if (memoryUsed === undefined) return warning('redis.memory', 'maxmemory is not set, so the free memory is unknown.');
  const message = `${Math.round(memoryUsed * 100)} % of maxmemory in use.`;
  return memoryUsed < FULL ? ok('redis.memory', message) : warning('redis.memory', `${message} Raise maxmemory.`);
}

function permissionsOf({ deniedCommands }: RedisInspection): readonly Finding[] {
  const required = deniedCommands.filter(command => !OPTIONAL.has(command));
  const rules = 'infra/redis/users.acl has the rules of this user.';
  if (required.length > 0)
    return [
      failed('redis.permissions', `The user may not run: ${required.join(', ')} (or not on these keys). ${rules}`),
    ];
  return deniedCommands.length > 0
    ? [warning('redis.permissions', `The user may not run: ${deniedCommands.join(', ')}. ${rules}`)]
    : [ok('redis.permissions', 'The user may run every command that the gateway needs.')];
}
