import { Redis } from 'ioredis';

/**
 * Keys that nobody will ever take away, although nothing refers to them any more: names that KEYSPACE.md does not know, keys that should
 * have a lifetime and have none, and entries of indexes whose record is gone.
 */
export async function orphanKeys(redisUrl: string, prefix = 'postern'): Promise<readonly string[]> {
  const redis = new Redis(redisUrl);
  try {
    const keys: string[] = [];
    for await (const batch of redis.scanStream({ count: 1000 })) keys.push(...(batch as string[]));
    const own = [...new Set(keys)].filter(key => key.startsWith(`${prefix}:`));
    const lifetimes = await redis.pipeline(own.map(key => ['pttl', key])).exec();
    const faults = own.flatMap((key, at) => faultOf(key, Number(lifetimes?.[at]?.[1]), prefix));
    return [...faults, ...(await danglingEntries(redis, own))];
  } finally {
    redis.disconnect();
  }
}

/** What stays however long nothing happens: records of people that only people remove, positions, and indexes over live records. */
const LASTING = [
  'cn',
  'cns',
  'cr',
  'crs',
  'pks',
  'rvs',
  'reg',
  'open',
  'held',
  'due',
  'events',
  'cursor',
  'audit',
  'carry',
];
const PASSING = ['el', 'res', 'opens', 'feed', 'fed', 'limit', 'rv', 'once', 'claim', 'bs', 'idem', 'lease'];
/** `el` and `res` of an elicitation that may have been paid stay until it is known. */
const MAY_LAST = ['el', 'feed'];

function faultOf(key: string, pttl: number, prefix: string): string[] {
  const [, tag = '', noun = ''] = /^[^:]+:\{([^}]+)\}:([a-z]+)/.exec(key) ?? [];
  if (tag.startsWith('wh.')) return [];
  if (!key.startsWith(`${prefix}:{`) || ![...LASTING, ...PASSING].includes(noun)) return [`unknown: ${key}`];
  if (PASSING.includes(noun) && !MAY_LAST.includes(noun) && pttl === -1) return [`without a lifetime: ${key}`];
  return [];
}

/** Entries of the indexes over elicitations and connections that lead nowhere. */
async function danglingEntries(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const known = new Set(keys);
  const dangling: string[] = [];
  for (const key of keys) {
    const base = key.slice(0, key.indexOf('}') + 1);
    const noun = key.slice(base.length + 1).split(':')[0] ?? '';
    const ids = await idsIn(redis, key, noun);
    for (const id of ids) {
      const [kind = '', rest = ''] = id.split('_', 2);
      const record = `${base}:${kind}:${id.slice(kind.length + 3)}`;
      if (rest !== '' && !known.has(record) && (await redis.exists(record)) === 0)
        dangling.push(`${key} leads to ${id}`);
    }
  }
  return dangling;
}

async function idsIn(redis: Redis, key: string, noun: string): Promise<string[]> {
  switch (noun) {
    case 'open':
      return redis.hvals(key);
    case 'due':
      return redis.zrange(key, '0', '-1');
    case 'cns':
    case 'crs':
      return redis.smembers(key);
    default:
      return [];
  }
}
