import { SHARDS, StoreUnavailableError } from '@postern/elicitation';
import { Cluster, type Redis } from 'ioredis';
import { DEFAULT_REPLICAS, type DurabilityOptions, UnsafeRedisError, type UnsafeSetting } from './durability.ts';
import { createKeys } from './keys.ts';
import { faultOf, storeErrorOf } from './redis-fault.ts';

export interface SafetyOptions {
  /** The operator guarantees durability and that Redis evicts nothing. For a Redis that forbids CONFIG. */
  readonly assumeDurable?: boolean;
  readonly durability?: DurabilityOptions;
  /** First part of every key name. Default `postern`. */
  readonly prefix?: string;
}

const OLDEST_MAJOR = 7;

/**
 * Checks that every master can keep the promise of the durability profile: the append-only file is on, eviction is off, enough replicas
 * are connected, and the version is supported.
 * @throws UnsafeRedisError, StoreUnavailableError
 */
export async function assertSafeRedis(redis: Redis | Cluster, options: SafetyOptions = {}): Promise<void> {
  await Promise.all(mastersOf(redis).map(node => assertSafeNode(node, options)));
}

export function mastersOf(redis: Redis | Cluster): readonly Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

async function assertSafeNode(node: Redis, options: SafetyOptions): Promise<void> {
  const version = /^redis_version:(\S+)/m.exec(await info(node, 'server'))?.[1];
  if (Number.parseInt(version ?? '', 10) >= OLDEST_MAJOR === false) {
    throw new UnsafeRedisError(
      'redis_version',
      `Redis ${OLDEST_MAJOR}.0 or newer is required${version === undefined ? '' : `, this is ${version}`}. Upgrade Redis.`,
    );
  }
  await assertKeepsData(node, options);
}

/** The checks of settings that can change while Redis runs. They run repeatedly. */
export async function assertKeepsData(node: Redis, options: SafetyOptions): Promise<void> {
  await assertSettings(node, options);
  if (options.durability?.profile === 'ha') await assertReplicas(node, options.durability);
}

async function assertSettings(node: Redis, { assumeDurable, durability, prefix }: SafetyOptions): Promise<void> {
  const settings = await settingsOf(node, 'appendonly', 'appendfsync', 'maxmemory-policy');
  if (settings === undefined) {
    if (assumeDurable === true) return;
    throw new UnsafeRedisError(
      'config',
      'Redis does not let CONFIG GET be used, so it is unknown whether it keeps its data. Allow "CONFIG GET" for this ' +
        'user, or set assumeDurable when you know that it persists every write and evicts nothing.',
    );
  }
  if (settings['appendonly'] !== 'yes') {
    throw new UnsafeRedisError(
      'appendonly',
      'Redis runs without an append-only file and would forget everything when it is killed. Set "appendonly yes".',
    );
  }
  const fsync = settings['appendfsync'] ?? '';
  if (durability?.profile === 'single-strict' && fsync !== 'always') {
    throw new UnsafeRedisError(
      'appendfsync',
      `Redis acknowledges writes before they are on disk (appendfsync ${fsync}), and the durability profile is ` +
        'single-strict. Set "appendfsync always", or choose the profile single.',
    );
  }
  if (fsync === 'no') {
    throw new UnsafeRedisError(
      'appendfsync',
      'Redis leaves it to the operating system when writes reach the disk (appendfsync no). Set "appendfsync everysec".',
    );
  }
  const policy = settings['maxmemory-policy'] ?? '';
  if (policy !== 'noeviction') {
    throw new UnsafeRedisError(
      'maxmemory-policy',
      `Redis may evict live records (maxmemory-policy ${policy}). Set "maxmemory-policy noeviction".`,
    );
  }
  const replay = await replayPermissionOf(node, prefix);
  if (replay.answer === 'denied') {
    throw new UnsafeRedisError(
      'default-user',
      `The Redis user "default" may not run ${replay.command} on the keys of the gateway. Redis replays its append-only ` +
        'file as that user, and would drop acknowledged writes at a restart. Set "user default off ~* &* +@all": the user ' +
        'stays disabled, and the replay keeps everything.',
    );
  }
}

async function assertReplicas(node: Redis, { replicas = DEFAULT_REPLICAS }: DurabilityOptions): Promise<void> {
  const replication = await info(node, 'replication');
  if (/^role:(\w+)/m.exec(replication)?.[1] !== 'master') {
    throw new UnsafeRedisError(
      'role',
      'This Redis is itself a replica. Give the address of the master, or of Sentinels.',
    );
  }
  const connected = [...replication.matchAll(/^slave\d+:.*\bstate=online\b/gm)].length;
  if (connected < replicas) {
    throw new UnsafeRedisError(
      'replicas',
      `The durability profile ha needs ${replicas} connected replica(s) of every master, and one has ${connected}. Add ` +
        'replicas, lower durability.replicas, or choose the profile single.',
    );
  }
}

/**
 * Lists settings that endanger data but do not prevent the start:
 * - a master that loses all its replicas keeps accepting writes that no replica confirms
 * - a master of profile `ha` that restarts before a fail-over lacks the writes that it had not flushed
 * - a Redis without `maxmemory` grows until its process is killed
 * - the gateway cannot check whether the user `default` may replay the append-only file
 *
 * @throws StoreUnavailableError
 */
export async function warningsAbout(
  redis: Redis | Cluster,
  { durability, prefix }: SafetyOptions,
): Promise<readonly UnsafeSetting[]> {
  const perMaster = await Promise.all(
    mastersOf(redis).map(async node => {
      const replay = await replayPermissionOf(node, prefix);
      const isHa = durability?.profile === 'ha';
      const settings = isHa ? await settingsOf(node, 'appendfsync', 'min-replicas-to-write') : undefined;
      return {
        'default-user': replay.answer !== 'granted',
        appendfsync: settings !== undefined && settings['appendfsync'] !== 'always',
        'min-replicas-to-write': settings?.['min-replicas-to-write'] === '0',
        maxmemory: /^maxmemory:0\b/m.test(await info(node, 'memory')),
      };
    }),
  );
  return (['default-user', 'appendfsync', 'min-replicas-to-write', 'maxmemory'] as const).filter(setting =>
    perMaster.some(found => found[setting]),
  );
}

/** Returns undefined if CONFIG is forbidden or unknown, as at many managed Redis services. */
async function settingsOf(node: Redis, ...names: [string, ...string[]]): Promise<Record<string, string> | undefined> {
  try {
    const reply: unknown = await node.call('CONFIG', 'GET', ...names);
    if (!Array.isArray(reply)) return undefined;
    const pairs = names.map(name => [name, String(reply[reply.indexOf(name) + 1])] as const);
    return Object.fromEntries(pairs);
  } catch (error) {
    const fault = faultOf(error);
    if (fault.code === 'NOPERM' || fault.kind === 'misuse') return undefined;
    throw new StoreUnavailableError({ cause: fault });
  }
}

async function info(node: Redis, section: string): Promise<string> {
  try {
    return await node.info(section);
  } catch (error) {
    throw storeErrorOf(faultOf(error));
  }
}

/**
 * Every write command of our scripts and of BullMQ's, with arguments, as the append-only file holds it. Redis rewrites relative
 * expiries and blocking commands, and adds SELECT and UNLINK.
 * @internal
 */
export function replayedCommands(key: string): readonly (readonly [string, ...string[]])[] {
  return [
    ['SELECT', '0'],
    ['DEL', key],
    ['HDEL', key, 'f'],
    ['HINCRBY', key, 'f', '1'],
    ['HMSET', key, 'f', 'v'],
    ['HSET', key, 'f', 'v'],
    ['HSETNX', key, 'f', 'v'],
    ['INCR', key],
    ['LPOP', key],
    ['LPUSH', key, 'v'],
    ['LREM', key, '0', 'v'],
    ['LTRIM', key, '0', '1'],
    ['PERSIST', key],
    ['PEXPIREAT', key, '1'],
    ['RENAME', key, key],
    ['RPOP', key],
    ['RPOPLPUSH', key, key],
    ['RPUSH', key, 'v'],
    ['SADD', key, 'v'],
    ['SET', key, 'v'],
    ['SREM', key, 'v'],
    ['UNLINK', key],
    ['XADD', key, '1-1', 'f', 'v'],
    ['XTRIM', key, 'MAXLEN', '1'],
    ['ZADD', key, '1', 'v'],
    ['ZPOPMIN', key],
    ['ZREM', key, 'v'],
    ['ZREMRANGEBYRANK', key, '0', '1'],
    ['ZREMRANGEBYSCORE', key, '0', '1'],
  ];
}

type ReplayPermission =
  | { readonly answer: 'granted' }
  | { readonly answer: 'denied'; readonly command: string }
  /** ACL DRYRUN is forbidden or unknown, as at many managed Redis services. */
  | { readonly answer: 'unknown' };

/**
 * Asks Redis whether the user `default` may run the commands in the append-only file. Redis replays the file as that user, and
 * EXEC checks its permissions: it drops a denied command of a script without an error (redis#14541). ACL DRYRUN also works for a
 * disabled user; ACL GETUSER would reveal password hashes.
 * @throws StoreUnavailableError
 */
async function replayPermissionOf(node: Redis, prefix = 'postern'): Promise<ReplayPermission> {
  const [shard] = SHARDS;
  if (shard === undefined) throw new TypeError('There are shards.');
  const commands = replayedCommands(createKeys(prefix).cursor(shard));
  const pipeline = node.pipeline();
  for (const command of commands) pipeline.call('ACL', 'DRYRUN', 'default', ...command);
  const answers = await pipeline.exec().catch((error: unknown) => {
    throw new StoreUnavailableError({ cause: faultOf(error) });
  });
  let isUnknown = false;
  for (const [at, [error, reply]] of (answers ?? []).entries()) {
    if (error !== null) {
      const fault = faultOf(error);
      if (fault.code !== 'NOPERM' && fault.kind !== 'misuse') throw new StoreUnavailableError({ cause: fault });
      isUnknown = true;
    } else if (reply !== 'OK') {
      return { answer: 'denied', command: commands[at]?.[0] ?? '' };
    }
  }
  return isUnknown ? { answer: 'unknown' } : { answer: 'granted' };
}
