import { StoreUnavailableError } from '@postern/elicitation';
import type { Cluster, Redis } from 'ioredis';
import { assertSafeRedis, mastersOf, warningsAbout } from './assert-safe-redis.ts';
import { memoryUsedBy, probeKeys, probeSlots, refusalOf } from './capacity-watch.ts';
import { openRedis, tlsFaultOf, untilReady } from './connect-redis.ts';
import { type DurabilityOptions, UnsafeRedisError, type UnsafeSetting } from './durability.ts';
import { createKeys, type Keys } from './keys.ts';
import type { RedisAddress, RedisTlsOptions } from './redis-address.ts';
import { faultOf } from './redis-fault.ts';

export interface RedisInspection {
  /** Of the first master. */
  readonly version: string | undefined;
  /** Why the gateway would refuse to start. */
  readonly unsafe: UnsafeRedisError | undefined;
  /** Settings that endanger data but do not prevent the start. */
  readonly warnings: readonly UnsafeSetting[];
  /** `appendfsync` of the first master. Undefined if Redis hides it. */
  readonly appendfsync: string | undefined;
  /** Error codes of masters that refuse writes. */
  readonly refusals: readonly string[];
  /** Used memory of the fullest master as a share of `maxmemory`. Undefined without a limit. */
  readonly memoryUsed: number | undefined;
  /** Commands that the gateway needs and its user may not run, as ACL rules name them. Only `eval` if it may not use the keys either. */
  readonly deniedCommands: readonly string[];
  /** Milliseconds by which the clock of Redis is ahead of this machine's. */
  readonly clockLeadMs: number;
}

/**
 * Every command of the gateway's user in infra/redis/users.acl, which a test compares. `acl|dryrun` and `config|get` are optional.
 * @internal exported for tests
 */
export const gatewayCommands: readonly string[] = (
  'acl|dryrun bzpopmin client|setname cluster config|get del eval evalsha exists get hdel hexists hget hgetall hincrby hlen hmget ' +
  'hmset hset hsetnx incr info lindex llen lpop lpos lpush lrange lrem ltrim persist pexpire ping pttl publish rename rpop ' +
  'rpoplpush rpush sadd scan scard set smembers srem subscribe time wait xadd xlen xrange xrevrange xtrim zadd zcard zcount ' +
  'zpopmin zrange zrangebyscore zremrangebyrank zremrangebyscore zrem zrevrange zrevrangebyscore zscore'
).split(' ');

/** Asks Redis about the permissions of the user that runs the script (Redis 7 or newer). Runs none of the commands. */
const PERMISSIONS = `
local denied = {}
for at = 2, #ARGV do
  local parts = {}
  for part in string.gmatch(ARGV[at], '[^|]+') do parts[#parts + 1] = part end
  local subject = KEYS[1]
  if parts[1] == 'publish' or parts[1] == 'subscribe' then subject = ARGV[1] end
  parts[#parts + 1] = subject
  for _, filler in ipairs({'1', '1', '1'}) do
    if parts[1] ~= 'subscribe' and parts[1] ~= 'del' and parts[1] ~= 'exists' then parts[#parts + 1] = filler end
  end
  if parts[1] == 'rename' or parts[1] == 'rpoplpush' then parts[3] = KEYS[1] end
  if parts[1] == 'eval' or parts[1] == 'evalsha' then parts = { parts[1], '', '1', KEYS[1] } end
  if parts[1] == 'cluster' then parts = { parts[1], 'info' } end
  if parts[1] == 'bzpopmin' then parts = { parts[1], KEYS[1], '1' } end
  local isKnown, isAllowed = pcall(redis.acl_check_cmd, unpack(parts))
  if not isKnown or not isAllowed then denied[#denied + 1] = ARGV[at] end
end
return denied`;

/**
 * Looks whether Redis is fit for the gateway. Writes one probe per master, and removes it.
 * @throws StoreUnavailableError
 */
export async function inspectRedis(
  options: RedisAddress & {
    readonly tls?: RedisTlsOptions;
    readonly prefix?: string;
    readonly durability?: DurabilityOptions;
    readonly assumeDurable?: boolean;
    /** Timeout of the connection and of each command, in milliseconds. Default 8000. */
    readonly timeoutMs?: number;
  },
): Promise<RedisInspection> {
  const timeoutMs = options.timeoutMs ?? 8_000;
  const keys = createKeys(options.prefix ?? 'postern');
  const refused = Promise.withResolvers<never>();
  // Handled by the race below, or too late to matter.
  refused.promise.catch(() => {});
  const { redis, close } = openRedis({
    address: options,
    tls: options.tls,
    connectionName: 'postern-check',
    commandTimeoutMs: timeoutMs,
    onFault(fault) {
      // Trying again cannot help.
      if (fault.code === 'WRONGPASS' || fault.code === 'NOAUTH')
        refused.reject(new StoreUnavailableError({ cause: fault }));
    },
  });
  try {
    await Promise.race([
      untilReady(redis, { withinMs: timeoutMs, lateMs: timeoutMs, onLate: () => {} }),
      refused.promise,
    ]);
    return await inspect(redis, keys, options);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw new StoreUnavailableError({ cause: faultOf(error) });
    const tlsFault = await tlsFaultOf(options, options.tls, timeoutMs);
    throw tlsFault === undefined ? error : new StoreUnavailableError({ cause: tlsFault });
  } finally {
    close();
  }
}

async function inspect(
  redis: Redis | Cluster,
  keys: Keys,
  options: Parameters<typeof inspectRedis>[0],
): Promise<RedisInspection> {
  const { durability, prefix, assumeDurable } = options;
  const safety = { durability, prefix, assumeDurable };
  const [first] = mastersOf(redis);
  if (first === undefined) throw new TypeError('A connected Redis has a master.');
  const unsafe = await assertSafeRedis(redis, safety).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof UnsafeRedisError) return error;
      throw error;
    },
  );
  const probes = probeKeys(redis, probeSlots(keys));
  const used = await Promise.all(mastersOf(redis).map(memoryUsedBy));
  const limited = used.filter(share => share !== undefined);
  return {
    unsafe,
    version: /^redis_version:(\S+)/m.exec(await first.info('server').catch(() => ''))?.[1],
    warnings: await warningsAbout(redis, safety),
    appendfsync: await appendfsyncOf(first),
    refusals: await refusalsOf(redis, probes),
    memoryUsed: limited.length === 0 ? undefined : Math.max(...limited),
    deniedCommands: await deniedTo(redis, probes, keys.wake),
    clockLeadMs: await clockLeadOf(first),
  };
}

async function appendfsyncOf(node: Redis): Promise<string | undefined> {
  const reply: unknown = await node.call('CONFIG', 'GET', 'appendfsync').catch(() => undefined);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : undefined;
}

async function refusalsOf(redis: Redis | Cluster, probes: readonly string[]): Promise<readonly string[]> {
  const refused = await Promise.all(
    probes.map(async key => {
      const code = await refusalOf(redis, key);
      // Without this permission the probe expires within a minute.
      if (code === undefined) await redis.call('DEL', key).catch(() => undefined);
      return code;
    }),
  );
  return [...new Set(refused.filter(code => code !== undefined))].sort();
}

async function deniedTo(
  redis: Redis | Cluster,
  probes: readonly string[],
  channel: string,
): Promise<readonly string[]> {
  const denied = await Promise.all(
    probes.map(async key => {
      try {
        const reply: unknown = await redis.call('EVAL', PERMISSIONS, '1', key, channel, ...gatewayCommands);
        return Array.isArray(reply) ? reply.map(String) : [];
      } catch (error) {
        const { code } = faultOf(error);
        if (code === 'NOPERM') return ['eval'];
        throw error;
      }
    }),
  );
  return [...new Set(denied.flat())].sort();
}

/** `TIME` is taken between the request and its reply; the middle halves the error. */
async function clockLeadOf(node: Redis): Promise<number> {
  const before = Date.now();
  const [seconds = 0, micros = 0] = await node.time();
  return Number(seconds) * 1_000 + Number(micros) / 1_000 - (before + Date.now()) / 2;
}
