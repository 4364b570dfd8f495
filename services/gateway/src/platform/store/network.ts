import type { NetworkStores, QueueRedis } from '@postern/store-redis';

/** What a gateway can do only with Redis: serve other machines and other people, and share its work with other processes. */
export interface Network extends NetworkStores {
  /** Opens a separate connection for job queues. The caller closes it. */
  readonly openQueueRedis: () => QueueRedis;
}

/** For code that runs only under a configuration that needs Redis: without one, that is refused when it is loaded. */
export function offered(network: Network | undefined): Network {
  if (network === undefined) throw new TypeError('This gateway has no Redis.');
  return network;
}
