import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RedisInspection } from '@postern/store-redis';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { hasRedis } from '../../platform/config/redis-config.ts';
import { notOffered } from '../../platform/config/store-capabilities.ts';
import { redisTarget } from '../../platform/redis/redis-target.ts';
import { explanationOf, StartError } from '../../platform/start-error.ts';
import { openFile } from '../../platform/store/open-stores.ts';
import { type Finding, failed, ok, warning } from './findings.ts';

/** Timeout of the connection and of each command, in milliseconds. */
const REDIS_MS = 8_000;
/** Without these commands the gateway starts, but cannot check one setting. */
const OPTIONAL: ReadonlySet<string> = new Set(['acl|dryrun', 'config|get']);
/** As in the alert of docs/alerts.md. */
const FULL = 0.8;

/** Checks what keeps the state. @param onClock called with the milliseconds by which Redis is ahead */
export async function checkStore(
  config: GatewayConfig,
  onClock: (leadMs: number) => void,
): Promise<readonly Finding[]> {
  if (!hasRedis(config)) return [await checkFile(config)];
  const { redis } = config;
  let found: RedisInspection;
  try {
    const { inspectRedis } = await import('@postern/store-redis');
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

/** Opens the file, as the start does. One that is not there, or has nothing in it, stays so. */
async function checkFile(config: GatewayConfig): Promise<Finding> {
  const path = config.store.file;
  const place = existsSync(path) ? path : (parentsOf(path).find(existsSync) ?? '/');
  try {
    accessSync(place, constants.W_OK);
    if (place !== path && !statSync(place).isDirectory()) return failed('store.file', `${place} is not a folder.`);
  } catch {
    return failed('store.file', `${path} cannot be written.`);
  }
  if (place === path && statSync(path).size > 0) {
    try {
      await (await openFile(config)).close();
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      // The gateway that runs has opened it.
      if (error.code !== 'file_in_use') return failed('store.file', error.message);
    }
  }
  return ok('store.file', `The state is in ${path}. Not offered without Redis: ${notOffered(config).join(', ')}.`);
}

/** The folders above a path, the nearest first. */
function parentsOf(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
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
