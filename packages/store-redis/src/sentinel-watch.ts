import { Redis } from 'ioredis';
import { endpointsOf, type RedisTlsOptions, type SentinelAddress, sentinelLoginOf } from './redis-address.ts';
import { faultOf, type RedisFault } from './redis-fault.ts';

export interface SentinelWatchOptions {
  readonly address: SentinelAddress;
  readonly tls: RedisTlsOptions | undefined;
  readonly connectionName: string;
  readonly timeoutMs: number;
  /** Called if the master has changed. Leave the connections to the old one, even if it still runs. */
  readonly onSwitch: () => void;
  readonly onFault: (fault: RedisFault) => void;
}

const CHANNEL = '+switch-master';
/** Delay before reconnecting to an unreachable Sentinel; the others stay subscribed. */
const PAUSE_MS = 5_000;

/**
 * Listens to all Sentinels for fail-overs. Every Sentinel announces each fail-over, and only the first announcement counts.
 * Dropping the new connections at each further one, as the detector of ioredis does, would prolong the outage.
 */
export class SentinelWatch {
  readonly #sentinels: readonly Redis[];

  constructor({ address, tls, connectionName, timeoutMs, onSwitch, onFault }: SentinelWatchOptions) {
    let last: string | undefined;
    this.#sentinels = endpointsOf(address).map(endpoint => {
      const sentinel = new Redis({
        ...endpoint,
        ...sentinelLoginOf(address, tls),
        connectionName: `${connectionName}-watch`,
        lazyConnect: true,
        connectTimeout: timeoutMs,
        commandTimeout: timeoutMs,
        keepAlive: 10_000,
        enableReadyCheck: false,
        autoResubscribe: false,
        maxRetriesPerRequest: 0,
        retryStrategy: () => PAUSE_MS,
      });
      sentinel.on('error', (error: unknown) => onFault(faultOf(error)));
      sentinel.on('ready', () => {
        sentinel.subscribe(CHANNEL).catch((error: unknown) => onFault(faultOf(error)));
      });
      // `<master name> <old host> <old port> <new host> <new port>`
      sentinel.on('message', (_channel: string, message: string) => {
        if (message === last || message.split(' ', 1)[0] !== address.masterName) return;
        last = message;
        onSwitch();
      });
      // Its events report the result.
      sentinel.connect().catch(() => undefined);
      return sentinel;
    });
  }

  close(): void {
    for (const sentinel of this.#sentinels) sentinel.disconnect();
  }
}

/** Makes a connection look up its master again. A connection that is down is already doing that and must not be disturbed. */
export function leaveMaster(redis: Redis): void {
  if (redis.status === 'ready') redis.disconnect(true);
}

/**
 * Reconnects a connection that ended without a call to `disconnect`. Under Sentinel, ioredis gives up for good if it is asked to
 * reconnect while it looks up the master, for example because of a reply of the old master.
 * @returns a function to call before closing the connection on purpose
 */
export function keepConnecting(redis: Redis): () => void {
  const connect = () => {
    // Its events report the result.
    redis.connect().catch(() => undefined);
  };
  redis.on('end', connect);
  return () => redis.off('end', connect);
}
