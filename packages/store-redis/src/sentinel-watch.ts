import { Redis } from 'ioredis';
import { endpointsOf, type RedisTlsOptions, type SentinelAddress, sentinelLoginOf } from './redis-address.ts';
import { faultOf, type RedisFault } from './redis-fault.ts';

export interface SentinelWatchOptions {
  readonly address: SentinelAddress;
  readonly tls: RedisTlsOptions | undefined;
  readonly connectionName: string;
  readonly timeoutMs: number;
  /** Another master than the one of the last time: connections to that one are to be left, also where it is still up. */
  readonly onSwitch: () => void;
  readonly onFault: (fault: RedisFault) => void;
}

const CHANNEL = '+switch-master';
/** Between two attempts to reach a Sentinel that is away; the others are listened to meanwhile. */
const PAUSE_MS = 5_000;

/**
 * Listens to all Sentinels for fail-overs. Every one of them tells of each, one after another, and only the first counts: dropping the
 * new connections with every further one, as the detector of ioredis does, would prolong what it is there to shorten.
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
      // What comes of it is told by its events.
      sentinel.connect().catch(() => undefined);
      return sentinel;
    });
  }

  close(): void {
    for (const sentinel of this.#sentinels) sentinel.disconnect();
  }
}

/** Has a connection look for its master anew. One that is not there is looking already, and must not be disturbed. */
export function leaveMaster(redis: Redis): void {
  if (redis.status === 'ready') redis.disconnect(true);
}
