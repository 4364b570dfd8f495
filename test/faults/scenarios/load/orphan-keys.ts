import { Redis } from 'ioredis';

/**
 * Keys that will never be deleted although no record refers to them: names that KEYSPACE.md does not list, keys without the required
 * expiry, and index entries whose record is gone.
 */
export async function orphanKeys(redisUrl: string, prefix = 'postern'): Promise<readonly string[]> {
  const redis = new Redis(redisUrl);
  try {
    const keys: string[] = [];
    for await (const batch of redis.scanStream({ count: 1000 })) keys.push(...(batch as string[]));
    const own = [...new Set(keys)].filter(key => key.startsWith(`${prefix}:`));
    const lifetimes = await redis.pipeline(own.map(key => ['pttl', key])).exec();
    const charging = await chargingIn(redis, own);
    const faults = own.flatMap((key, at) => faultOf(key, Number(lifetimes?.[at]?.[1]), { prefix, charging }));
    return [...faults, ...(await danglingEntries(redis, own))];
  } finally {
    redis.disconnect();
  }
}

/** Keys without an expiry: records that only their users remove, cursors, and indexes over live records. */
const LASTING = [
  'cn',
  'cns',
  'cr',
  'crs',
  'muted',
  'pks',
  'rvs',
  'reg',
  'open',
  'held',
  'due',
  'events',
  'cursor',
  'audit',
  'oaudit',
  'connected',
  'saved',
  'epoch',
  'ak',
  'aks',
  'adm',
  'ages',
  'jb',
  'jbs',
];
const PASSING = [
  'el',
  'res',
  'opens',
  'ends',
  'ended',
  'counts',
  'refreshes',
  'feed',
  'fed',
  'limit',
  'quota',
  'probe',
  'rv',
  'once',
  'claim',
  'used',
  'bs',
  'bss',
  'slo',
  'os',
  'oss',
  'oslo',
  'rps',
  'idem',
  'jbe',
  'lease',
  'fence',
];
const OF_ENDPOINTS = ['endpoint', 'deliveries', 'fence'];

function faultOf(key: string, pttl: number, p: { readonly prefix: string; readonly charging: Set<string> }): string[] {
  const [, tag = '', noun = ''] = /^[^:]+:\{([^}]+)\}:([a-z]+)/.exec(key) ?? [];
  const nouns = tag.startsWith('wh.') ? OF_ENDPOINTS : [...LASTING, ...PASSING];
  if (!key.startsWith(`${p.prefix}:{`) || !nouns.includes(noun)) return [`unknown: ${key}`];
  // A charging elicitation may have been paid, so its record is kept until the result is known.
  if (tag.startsWith('wh.') || !PASSING.includes(noun) || p.charging.has(key)) return [];
  return pttl === -1 ? [`without a lifetime: ${key}`] : [];
}

/** Keys of the elicitations that are held without expiry. */
async function chargingIn(redis: Redis, keys: readonly string[]): Promise<Set<string>> {
  const charging = new Set<string>();
  for (const key of keys.filter(name => name.endsWith('}:held')))
    for (const member of await redis.zrangebyscore(key, '+inf', '+inf'))
      charging.add(recordOf(baseOf(key), member.split(' ')[1] ?? ''));
  return charging;
}

/** Index entries without a record. */
async function danglingEntries(redis: Redis, keys: readonly string[]): Promise<string[]> {
  const known = new Set(keys);
  const dangling: string[] = [];
  for (const key of keys) {
    const base = baseOf(key);
    for (const id of await idsIn(redis, key, key.slice(base.length + 1).split(':')[0] ?? '')) {
      const record = recordOf(base, id);
      if (!known.has(record) && (await redis.exists(record)) === 0) dangling.push(`${key} leads to ${id}`);
    }
  }
  return dangling;
}

async function idsIn(redis: Redis, key: string, noun: string): Promise<string[]> {
  switch (noun) {
    case 'open':
      return redis.hvals(key);
    case 'due':
    case 'opens':
    case 'rvs':
    case 'ended':
    case 'connected':
    case 'saved':
      return redis.zrange(key, '0', '-1');
    case 'held':
      return (await redis.zrange(key, '0', '-1')).map(member => member.split(' ')[1] ?? '');
    case 'cns':
    case 'crs':
      return redis.smembers(key);
    default:
      return [];
  }
}

const baseOf = (key: string) => key.slice(0, key.indexOf('}') + 1);

/** Returns the record key of `el_7fVn3…`, which contains its shard: `postern:{7f}:el:Vn3…`. */
const recordOf = (base: string, id: string) => `${base}:${id.slice(0, 2)}:${id.slice(5)}`;
