import { randomInt } from 'node:crypto';
import { connect } from 'node:tls';
import { StoreUnavailableError } from '@postern/elicitation';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { loadScripts } from './commands.ts';
import {
  credentialsOf,
  endpointsOf,
  type RedisAddress,
  type RedisTlsOptions,
  type SentinelAddress,
  sentinelOptionsOf,
} from './redis-address.ts';
import { faultOf, RedisFault } from './redis-fault.ts';
import { keepConnecting, leaveMaster, SentinelWatch } from './sentinel-watch.ts';

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly tls?: RedisTlsOptions | undefined;
  readonly connectionName: string;
  readonly commandTimeoutMs: number;
  readonly onFault: (fault: RedisFault) => void;
  /** Called after a fail-over, when the request connection has left the old master. */
  readonly onSwitch?: () => void;
}

/**
 * Options of all connections (security: reliability contract). A command is answered, refused or timed out. ioredis never queues
 * or resends it, because only this package knows whether a repeat is safe. A silent connection is closed before its commands time
 * out. Repeatable commands are then repeated on a new connection, and requests fail immediately instead of piling up.
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

/** Matches errors that only a replica returns: the master has changed, so the connection reconnects. */
const isOfReplica = (error: Error) => /^(READONLY|MASTERDOWN|UNBLOCKED)\b/.test(error.message);

/** Short, because requests wait meanwhile. Jittered, because all gateways lose a Redis at the same time. */
export const reconnectDelay = (times: number) => Math.min(25 * 2 ** (times - 1), 1_000) + randomInt(50);

/** Connections that are not connected yet: one for requests, and a factory for the subscription's. */
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

/** The subscription opens a new connection for every attempt. */
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

/** Every connection asks the Sentinels for the master first, and rejects a server that reports itself as a replica. */
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
    // Otherwise ioredis would resend commands whose reply was lost, and delay others while the cluster is down.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 5_000,
    // Nodes get the scripts as well, for callers that must know which node replies.
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
  /** Calls `onLate` with the last fault after this time. */
  readonly lateMs: number;
  readonly onLate: (fault: RedisFault) => void;
}

/** Waits until Redis accepts commands: reachable, signed in, and done loading its data. @throws StoreUnavailableError */
export async function untilReady(redis: Redis | Cluster, { withinMs, lateMs, onLate }: StartPatience): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let last = new RedisFault('refused', 'not_connected');
  // A refusal is more informative than the end of the connection that follows it.
  const noted = (error: unknown) => {
    const fault = faultOf(error);
    if (fault.kind === 'refused' || last.kind !== 'refused' || last.code === 'not_connected') last = fault;
  };
  const timer = setTimeout(() => reject(new StoreUnavailableError({ cause: last })), withinMs);
  const late = setTimeout(() => onLate(last), lateMs);
  redis.on('error', noted);
  redis.once('ready', resolve);
  try {
    // Rejects when the first attempt fails. ioredis keeps trying until the deadline.
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

/** Connects to every master, because a cluster node that is still connecting refuses commands. */
async function warmUp(cluster: Cluster): Promise<void> {
  try {
    await Promise.all(cluster.nodes('master').map(node => node.ping()));
  } catch (error) {
    throw new StoreUnavailableError({ cause: faultOf(error) });
  }
}

/**
 * Returns the TLS error that made every connection fail. ioredis reports it only for a single Redis. Undefined if TLS is not the
 * cause or Redis does not respond.
 */
export async function tlsFaultOf(
  address: RedisAddress,
  tls: RedisTlsOptions | undefined,
  withinMs: number,
): Promise<RedisFault | undefined> {
  const { tls: secured } = credentialsOf(address, tls);
  const [endpoint] = endpointsOf(address);
  if (secured === undefined || endpoint === undefined) return undefined;
  const { promise, resolve } = Promise.withResolvers<RedisFault | undefined>();
  const socket = connect({ ...endpoint, ...secured }, () => resolve(undefined));
  socket.setTimeout(withinMs, () => resolve(undefined));
  socket.once('error', (error: unknown) => {
    const fault = faultOf(error);
    resolve(fault.code === 'tls' ? fault : undefined);
  });
  return promise.finally(() => socket.destroy());
}
