import { randomInt } from 'node:crypto';
import { StoreUnavailableError } from '@postern/elicitation';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { loadScripts } from './commands.ts';
import { faultOf, RedisFault } from './redis-fault.ts';

/** One Redis by URL, or some nodes of a Redis Cluster by URL; credentials and TLS of the first node apply to all. */
export type RedisAddress = { readonly url: string } | { readonly nodes: readonly string[] };

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly connectionName: string;
  readonly commandTimeoutMs: number;
  readonly onFault: (fault: RedisFault) => void;
}

/**
 * What every connection has in common (security: reliability contract). A command is answered, refused or timed out,
 * never queued for later and never resent by ioredis: whether a repeat is harmless is known only here. A connection on
 * which nothing at all comes back is given up before its commands time out: what can be repeated is repeated on a new one,
 * and requests fail at once instead of piling up behind a peer that has stopped answering.
 */
function commonOptions(settings: ConnectionSettings) {
  return {
    connectionName: settings.connectionName,
    lazyConnect: true,
    connectTimeout: settings.commandTimeoutMs,
    commandTimeout: settings.commandTimeoutMs,
    socketTimeout: Math.ceil(settings.commandTimeoutMs * 0.75),
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    keepAlive: 10_000,
  } satisfies RedisOptions;
}

/** Short, because waiting requests fail meanwhile; spread, because all replicas lose a Redis together. */
const reconnectDelay = (times: number) => Math.min(25 * 2 ** (times - 1), 1_000) + randomInt(50);

/** An unconnected connection pair: one for requests, and a way to open those of the subscription. */
export interface RedisConnections {
  readonly redis: Redis | Cluster;
  readonly openSubscriber: () => Redis;
}

export function openRedis(settings: ConnectionSettings): RedisConnections {
  const { address } = settings;
  const connections = 'url' in address ? openSingle(address.url, settings) : openCluster(address.nodes, settings);
  connections.redis.on('error', (error: unknown) => settings.onFault(faultOf(error)));
  return connections;
}

function openSingle(url: string, settings: ConnectionSettings): RedisConnections {
  const common = commonOptions(settings);
  return {
    redis: new Redis(url, {
      ...common,
      scripts: loadScripts(),
      enableOfflineQueue: false,
      retryStrategy: reconnectDelay,
    }),
    openSubscriber: () =>
      new Redis(url, { ...common, connectionName: `${common.connectionName}-wake`, retryStrategy: null }),
  };
}

function openCluster(nodes: readonly string[], settings: ConnectionSettings): RedisConnections {
  const [first] = nodes.map(node => new URL(node));
  if (first === undefined) throw new TypeError('A Redis Cluster needs the URL of a node.');
  const common = {
    ...commonOptions(settings),
    ...(first.username === '' ? {} : { username: decodeURIComponent(first.username) }),
    ...(first.password === '' ? {} : { password: decodeURIComponent(first.password) }),
    ...(first.protocol === 'rediss:' ? { tls: {} } : {}),
  };
  const redis = new Cluster([...nodes], {
    lazyConnect: true,
    scripts: loadScripts(),
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectDelay,
    // These would resend commands whose answer was lost, and keep others waiting while the cluster is down.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 5_000,
    redisOptions: common,
  });
  const openSubscriber = () => {
    const known = redis.nodes('all').map(({ options }) => ({ host: options.host, port: options.port }));
    const node = known[randomInt(Math.max(known.length, 1))] ?? { host: first.hostname, port: Number(first.port) };
    return new Redis({
      ...common,
      host: node.host ?? first.hostname,
      port: node.port ?? Number(first.port),
      connectionName: `${common.connectionName}-wake`,
      retryStrategy: null,
    });
  };
  return { redis, openSubscriber };
}

/** Waits until Redis takes commands: reachable, signed in, and done loading its data. @throws StoreUnavailableError */
export async function untilReady(redis: Redis | Cluster, withinMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let last = new RedisFault('refused', 'not_connected');
  const noted = (error: unknown) => {
    last = faultOf(error);
  };
  const timer = setTimeout(() => reject(new StoreUnavailableError({ cause: last })), withinMs);
  redis.on('error', noted);
  redis.once('ready', resolve);
  try {
    // Rejects when the first attempt fails; later attempts go on, and only the deadline ends them.
    redis.connect().catch(noted);
    await promise;
    if (redis instanceof Cluster) await warmUp(redis);
  } finally {
    clearTimeout(timer);
    redis.off('error', noted);
    redis.off('ready', resolve);
  }
}

/** Connects to every master, because a cluster node that is still connecting refuses what arrives meanwhile. */
async function warmUp(cluster: Cluster): Promise<void> {
  try {
    await Promise.all(cluster.nodes('master').map(node => node.ping()));
  } catch (error) {
    throw new StoreUnavailableError({ cause: faultOf(error) });
  }
}
