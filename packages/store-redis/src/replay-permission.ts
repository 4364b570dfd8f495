import { SHARDS, StoreUnavailableError } from '@postern/elicitation';
import type { Redis } from 'ioredis';
import { createKeys } from './keys.ts';
import { faultOf } from './redis-fault.ts';

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

export type ReplayPermission =
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
export async function replayPermissionOf(node: Redis, prefix = 'postern'): Promise<ReplayPermission> {
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
