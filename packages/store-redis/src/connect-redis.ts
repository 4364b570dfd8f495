import { randomInt } from 'node:crypto';
import { StoreUnavailableError } from '@postern/elicitation';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { loadScripts } from './commands.ts';
import { keepConnecting } from './keep-connecting.ts';
import {
  credentialsOf,
  endpointsOf,
  type RedisAddress,
  type RedisTlsOptions,
  type SentinelAddress,
  sentinelOptionsOf,
} from './redis-address.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { leaveMaster, SentinelWatch } from './sentinel-watch.ts';

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly tls?: RedisTlsOptions | undefined;
  readonly connectionName: string;
  readonly commandTimeoutMs: number;
  readonly onFault: (fault: RedisFault) => void;
  /** There is another master, and the connection of requests has left the old one. */
  readonly onSwitch?: () => void;
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
    reconnectOnError: isOfReplica,
    ...credentialsOf(settings.address, settings.tls),
  } satisfies RedisOptions;
}

/** What only a replica answers: the master is another one by now, so the connection is made anew. */
const isOfReplica = (error: Error) => /^(READONLY|MASTERDOWN|UNBLOCKED)\b/.test(error.message);

/** Short, because waiting requests fail meanwhile; spread, because all replicas lose a Redis together. */
export const reconnectDelay = (times: number) => Math.min(25 * 2 ** (times - 1), 1_000) + randomInt(50);

/** An unconnected connection pair: one for requests, and a way to open those of the subscription. */
export interface RedisConnections {
  readonly redis: Redis | Cluster;
  readonly openSubscriber: () => Redis;
  close(): void;
}

export function openRedis(settings: ConnectionSettings): RedisConnections {
  const connections = opened(settings);
  connections.redis.on('error', (error: unknown) => settings.onFault(faultOf(error)));
  return connections;
}

function opened(settings: ConnectionSettings): RedisConnections {
  const { address } = settings;
  if ('nodes' in address) return openCluster(address, settings);
  return 'sentinels' in address ? openSentinel(address, settings) : openSingle(address, settings);
}

const forRequests = () => ({ scripts: loadScripts(), enableOfflineQueue: false, retryStrategy: reconnectDelay });

/** Opened anew for every attempt, by whoever wants to listen. */
const forWakeUps = (connectionName: string) => ({ connectionName: `${connectionName}-wake`, retryStrategy: null });

function openSingle(address: { readonly url: string }, settings: ConnectionSettings): RedisConnections {
  const common = commonOptions(settings);
  const redis = new Redis(address.url, { ...common, ...forRequests() });
  return {
    redis,
    openSubscriber: () => new Redis(address.url, { ...common, ...forWakeUps(common.connectionName) }),
    close: () => redis.disconnect(),
  };
}

/** Every connection asks the Sentinels for the master first, and takes none that says of itself that it is a replica. */
function openSentinel(address: SentinelAddress, settings: ConnectionSettings): RedisConnections {
  const common = {
    ...commonOptions(settings),
    ...sentinelOptionsOf(address, settings.tls),
    sentinelCommandTimeout: settings.commandTimeoutMs,
  };
  const redis = new Redis({ ...common, ...forRequests(), sentinelRetryStrategy: reconnectDelay });
  const letGo = keepConnecting(redis);
  const watch = new SentinelWatch({
    address,
    tls: settings.tls,
    connectionName: settings.connectionName,
    timeoutMs: settings.commandTimeoutMs,
    onSwitch() {
      leaveMaster(redis);
      settings.onSwitch?.();
    },
    onFault: settings.onFault,
  });
  return {
    redis,
    openSubscriber: () =>
      new Redis({ ...common, ...forWakeUps(common.connectionName), sentinelRetryStrategy: () => null }),
    close() {
      letGo();
      watch.close();
      redis.disconnect();
    },
  };
}

function openCluster(address: { readonly nodes: readonly string[] }, settings: ConnectionSettings): RedisConnections {
  const common = commonOptions(settings);
  const endpoints = endpointsOf(address);
  const scripts = loadScripts();
  const redis = new Cluster([...endpoints], {
    lazyConnect: true,
    scripts,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectDelay,
    // These would resend commands whose answer was lost, and keep others waiting while the cluster is down.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 5_000,
    // Scripts also by the nodes themselves, for those who must know which one answers.
    redisOptions: { ...common, scripts },
  });
  const openSubscriber = () => {
    const known = redis.nodes('all').flatMap(({ options: { host, port } }) => (host && port ? { host, port } : []));
    const candidates = known.length > 0 ? known : endpoints;
    return new Redis({
      ...common,
      ...candidates[randomInt(candidates.length)],
      ...forWakeUps(common.connectionName),
    });
  };
  return { redis, openSubscriber, close: () => redis.disconnect() };
}

export interface StartPatience {
  readonly withinMs: number;
  /** Calls `onLate` with the last fault when this time has passed. */
  readonly lateMs: number;
  readonly onLate: (fault: RedisFault) => void;
}

/** Waits until Redis takes commands: reachable, signed in, and done loading its data. @throws StoreUnavailableError */
export async function untilReady(redis: Redis | Cluster, { withinMs, lateMs, onLate }: StartPatience): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let last = new RedisFault('refused', 'not_connected');
  // That it was refused says more than that the connection ended then.
  const noted = (error: unknown) => {
    const fault = faultOf(error);
    if (fault.kind === 'refused' || last.kind !== 'refused' || last.code === 'not_connected') last = fault;
  };
  const timer = setTimeout(() => reject(new StoreUnavailableError({ cause: last })), withinMs);
  const late = setTimeout(() => onLate(last), lateMs);
  redis.on('error', noted);
  redis.once('ready', resolve);
  try {
    // Rejects when the first attempt fails; later attempts go on, and only the deadline ends them.
    redis.connect().catch(noted);
    await promise;
    if (redis instanceof Cluster) await warmUp(redis);
  } finally {
    clearTimeout(timer);
    clearTimeout(late);
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
